// Fate: the one place that decides what becomes of a record that is not counted.
//
// It is counted by reason, and some are said in the log: the first of each reason, then at most one
// a reason every ten seconds, with how many were kept quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "ingest/source.h"

namespace gapwatch::ingest {

// Where a record stands, as editors and people count: the first line of a file is 1, Kafka's first offset 0.
std::string place_of(const PartitionName& from, const Record& record);

class Fate {
 public:
  explicit Fate(const Clock& clock) : clock_(clock) {}
  // Counts a rejected record, and logs it if it is its turn. `detail` names the field and what was wrong.
  void reject(std::map<std::string, std::uint64_t, std::less<>>& counts, const PartitionName& from,
              const Record& record, std::string_view reason, std::string_view detail);

 private:
  struct Said {
    std::chrono::steady_clock::time_point next;
    std::uint64_t quiet = 0;
  };
  const Clock& clock_;
  std::map<std::string, Said, std::less<>> said_;
};

}  // namespace gapwatch::ingest
