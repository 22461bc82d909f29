// A real Apache Kafka broker for a test program: started once by ops/kafka/start, stopped with it.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::testing {

class Broker {
 public:
  Broker() { start(); }
  ~Broker() { run_to_end({script("stop"), "--kill", data().string()}, dir_.path()); }

  void start() {
    const auto ran = run_to_end({script("start"), "--parent", std::to_string(getpid()), data().string()}, dir_.path());
    if (ran.status != 0) throw std::runtime_error("no broker: " + ran.err);
    bootstrap_ = read_file(data() / "bootstrap");
    while (!bootstrap_.empty() && bootstrap_.back() == '\n') bootstrap_.pop_back();
  }
  void stop() { run_to_end({script("stop"), data().string()}, dir_.path()); }

  const std::string& bootstrap() const { return bootstrap_; }

 private:
  static std::string script(const char* name) { return std::string(GAPWATCH_SOURCE_DIR) + "/ops/kafka/" + name; }
  std::filesystem::path data() const { return dir_.path() / "kafka"; }

  TempDir dir_;
  std::string bootstrap_;
};

// The one of this test program.
inline Broker& broker() {
  static Broker instance;
  return instance;
}

// A topic name no other test uses.
inline std::string fresh_topic(const std::string& stem) {
  static int number = 0;
  return stem + "-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

}  // namespace gapwatch::testing
