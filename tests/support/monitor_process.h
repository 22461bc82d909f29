// `gapwatch run` as a user runs it: a config file, a process, a port.
#pragma once

#include <simdjson.h>

#include <memory>
#include <optional>
#include <regex>
#include <string>

#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/process.h"

namespace gapwatch::testing {

class MonitorProcess {
 public:
  MonitorProcess(const std::filesystem::path& dir, const std::string& config) : dir_(dir) {
    write_file(dir / "gapwatch.yaml", config);
    start();
  }

  void start() {
    ++starts_;
    process_.reset();
    process_ = std::make_unique<Process>(
        std::vector<std::string>{GAPWATCH_BINARY, "run", "--config", (dir_ / "gapwatch.yaml").string()},
        dir_ / "run.out", dir_ / ("run-" + std::to_string(starts_) + ".err"));
    port_.reset();
  }

  // The port it listens on, once it said so; nothing if it ended before.
  std::optional<std::uint16_t> port() {
    eventually([&] {
      const auto said = process_->err();
      const auto at = said.find("on port ");
      if (at != std::string::npos && said.find('\n', at) != std::string::npos) {
        port_ = static_cast<std::uint16_t>(std::stoi(said.substr(at + 8)));
      }
      return port_ || !process_->running();
    });
    return port_;
  }

  std::string get(const std::string& target) {
    const auto at = port();
    return at ? http_get(*at, target).body : std::string();
  }

  // The value of a metric without labels, or with exactly these ("{...}"); nothing while it is absent.
  std::optional<double> metric(const std::string& name) {
    const auto text = "\n" + get("/metrics");
    const auto at = text.find("\n" + name + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::stod(text.substr(at + name.size() + 2));
  }

  // Everything on the partitions has been read.
  bool caught_up(std::uint64_t records) {
    return eventually([&] {
      double total = 0;
      for (const char* result : {"applied", "duplicate", "correction", "retracted", "unmatched", "skipped"}) {
        total += metric(std::string("gapwatch_events_total{result=\"") + result + "\"}").value_or(0);
      }
      total += metric("gapwatch_events_total{result=\"rejected\"}").value_or(0);
      return total >= static_cast<double>(records) || !process_->running();
    }) && process_->running();
  }

  Process& process() { return *process_; }

 private:
  std::filesystem::path dir_;
  std::unique_ptr<Process> process_;
  std::optional<std::uint16_t> port_;
  int starts_ = 0;
};

// The part of a JSON document at a JSON pointer, as text; empty where it is not.
inline std::string json_at(const std::string& document, const std::string& pointer) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(simdjson::padded_string(document)).at_pointer(pointer).get(element) != simdjson::SUCCESS) return "";
  return simdjson::minify(element);
}

// The document without the null laws that a daemon has at every evaluation beside the sampled ones, and a report has not.
inline std::string without_live_laws(const std::string& document) {
  static const std::regex live(R"(,"live":\{[^}]*\})");
  return std::regex_replace(document, live, "");
}

}  // namespace gapwatch::testing
