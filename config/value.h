// Value: a node of the file under the name of its setting, and Reader: what reading one file shares.
//
// Reading never stops at a fault: a read that fails notes it and returns nothing. Only the .cc
// files of this folder include this header, so that yaml-cpp stays inside.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/result.h"
#include "config/fault.h"
#include "config/load.h"

namespace gapwatch::config {

class Reader {
 public:
  Reader(const Environment& environment, std::string folder)
      : environment_(environment), folder_(std::move(folder)) {}

  void fault(const YAML::Mark& mark, std::string key, std::string problem, std::string allowed);
  // Notes where a key is; what is checked later, across settings, points there.
  void place(const std::string& key, const YAML::Mark& mark) { places_.emplace(key, mark); }
  bool seen(const std::string& key) const { return places_.contains(key); }
  // A fault at `key`, or at the nearest section above it that is in the file.
  void fault_at(const std::string& key, std::string problem, std::string allowed);

  // Counts a value that was looked at. False, with one fault, once there are more than any honest
  // file has: aliases can make a small file expand without end.
  bool spend(const YAML::Mark& mark);

  std::optional<std::string> variable(const std::string& name) const { return environment_(name); }
  // A path of the file as the process must open it: relative ones start at the file's own folder.
  std::string resolved(const std::string& path) const;

  std::vector<Fault> take_faults();

 private:
  const Environment& environment_;
  std::string folder_;
  std::map<std::string, YAML::Mark> places_;
  std::vector<Fault> faults_;
  std::size_t looked_at_ = 0;
};

struct Value {
  YAML::Node node;
  std::string key;
  std::string allowed;
  Reader* reader;
  bool secret = false;

  std::nullopt_t fail(std::string problem) const;
  // The scalar with every ${NAME} replaced. `from_environment` tells whether there was one.
  std::optional<std::string> text(bool* from_environment = nullptr) const;
  // The value as the file has it, in quotes, cut short; "the value" where it is a secret.
  std::string quoted() const;

  // The items of a list, or of a map in the file's order; a fault and nothing for other kinds.
  std::optional<std::vector<Value>> items() const;
  std::optional<std::vector<std::pair<std::string, Value>>> entries() const;
};

// The key of a map as text; a fault and nothing where it is a list or a map itself.
std::optional<std::string> key_text(const YAML::Node& key, const std::string& section, Reader& reader);

// What the file that `value` names holds, without white space at its end.
std::optional<std::string> read_secret_file(const Value& value);

// A file of at most `limit` bytes. An error's message is the reason alone ("it is a directory").
Result<std::string> read_text_file(const std::string& path, std::size_t limit);

}  // namespace gapwatch::config
