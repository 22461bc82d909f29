// Streams on the real broker: made and judged by the program itself, and read by a monitor process that is killed.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <random>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include "ingest/kafka_producer.h"
#include "tests/support/broker.h"
#include "tests/support/monitor_process.h"

namespace gapwatch::testing {

// A config that reads one topic; `monitors` is the list of them in YAML.
inline std::string topic_config(const std::string& topic, const std::filesystem::path& dir, const std::string& monitors) {
  return "source:\n  kafka:\n    brokers: " + broker().bootstrap() + "\n    topics: [" + topic + "]\n    group: " + topic +
         "\n    instance: monitor-1\n    session_timeout: 6s\n" + "state: {path: " + (dir / "state").string() +
         ", checkpoint_every: 20ms}\nhttp: {listen: 127.0.0.1:0}\nmonitors:\n" + monitors;
}

// One monitor, `m`, of a simulated stream.
inline std::string simulated_config(const std::string& topic, const std::filesystem::path& dir, const std::string& more = "") {
  return topic_config(topic, dir, "  - name: m\n    eval: simulated\n    evaluate_every: 1s\n    nulls: {replicates: 50}\n" + more);
}

// What the program writes to standard output.
inline std::string run_gapwatch(const std::filesystem::path& dir, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), GAPWATCH_BINARY);
  const auto ran = run_to_end(arguments, dir);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return ran.out;
}

inline void simulate(const std::filesystem::path& dir, const std::string& scenario, int prompts, int policies, int draws,
                     const std::filesystem::path& to) {
  run_gapwatch(dir, {"simulate", scenario, "--prompts", std::to_string(prompts), "--policies", std::to_string(policies), "--draws",
                     std::to_string(draws), "--traffic", "random", "--to", to.string()});
}

inline void replay(const std::filesystem::path& dir, const std::filesystem::path& input, const std::string& topic, int partitions) {
  run_gapwatch(dir, {"replay", input.string(), "--to", "kafka://" + broker().bootstrap() + "/" + topic, "--partitions",
                     std::to_string(partitions)});
}

// The report's first monitor, of the config that the monitor process has.
inline std::string offline_monitor(const std::filesystem::path& dir, const std::filesystem::path& input) {
  return json_at(run_gapwatch(dir, {"report", input.string(), "--config", (dir / "gapwatch.yaml").string(), "--format", "json"}),
                 "/monitors/0");
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

inline void write_lines(const std::filesystem::path& path, std::span<const std::string> lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  write_file(path, text);
}

// The event with another member instead of the one called `name`, which is the first of its name.
inline std::string with_member(std::string event, const std::string& name, const std::string& instead) {
  const auto at = event.find("\"" + name + "\":");
  return event.replace(at, event.find_first_of(",}", at) - at, instead);
}

// Events in which nothing tells a second reading from a first: but for where they stand on the topic, each counts.
inline std::string without_draw(const std::string& event) { return with_member(event, "draw", R"("unknown":0)"); }
inline std::string pre_counted(const std::string& event, std::uint64_t successes, std::uint64_t trials) {
  return with_member(without_draw(event), "correct",
                     R"("successes":)" + std::to_string(successes) + R"(,"trials":)" + std::to_string(trials));
}

struct NaiveCell {
  std::uint64_t successes = 0, trials = 0;
  friend bool operator==(const NaiveCell&, const NaiveCell&) = default;
};

// Every event of `eval` counted once, by "prompt policy": a draw by its number, all others add. What cannot be read does not
// count.
inline std::map<std::string, NaiveCell> naive_counts(std::span<const std::string> events, const std::string& eval) {
  std::map<std::string, NaiveCell> cells;
  std::map<std::string, std::map<std::uint64_t, bool>> draws;
  simdjson::dom::parser parser;
  for (const auto& event : events) {
    const auto read = parser.parse(event);
    std::string_view of, prompt, policy;
    if (read["eval"].get(of) != simdjson::SUCCESS || of != eval || read["prompt"].get(prompt) != simdjson::SUCCESS ||
        read["policy"].get(policy) != simdjson::SUCCESS) {
      continue;
    }
    const auto cell = std::string(prompt) + " " + std::string(policy);
    NaiveCell more;
    std::uint64_t draw = 0;
    if (read["trials"].get(more.trials) == simdjson::SUCCESS) {
      more.successes = read["successes"].get_uint64();
    } else {
      more = {read["correct"].is_bool() ? read["correct"].get_bool().value() : read["correct"].get_uint64().value(), 1};
    }
    if (read["draw"].get(draw) == simdjson::SUCCESS) {
      draws[cell][draw] = more.successes > 0;
    } else {
      cells[cell].successes += more.successes;
      cells[cell].trials += more.trials;
    }
  }
  for (const auto& [cell, outcomes] : draws) {
    for (const auto& [draw, success] : outcomes) {
      cells[cell].successes += success;
      ++cells[cell].trials;
    }
  }
  return cells;
}

// What a state has counted of `eval`, read from its export.
inline std::map<std::string, NaiveCell> exported_counts(const std::filesystem::path& dir, const std::string& eval) {
  return naive_counts(lines_of(run_gapwatch(dir, {"state", "export", (dir / "state").string()})), eval);
}

// Writes events to a topic of its own, keyed by prompt.
class TopicWriter {
 public:
  TopicWriter(const std::string& topic, int partitions) : topic_(topic) {
    const auto made = ingest::create_topic(broker().bootstrap(), {}, topic, partitions);
    EXPECT_TRUE(made) << made.error().message;
    producer_ = ingest::make_kafka_producer(broker().bootstrap(), {}).value();
  }

  // Returns once the broker has them.
  void write(std::span<const std::string> events) {
    for (const auto& event : events) {
      std::string_view prompt;
      const bool read = parser_.parse(event)["prompt"].get(prompt) == simdjson::SUCCESS;
      send(event, read ? std::optional(prompt) : std::nullopt, std::nullopt);
    }
    flush();
  }
  // The same to every one of the first partitions.
  void write_to_each(const std::string& event, int partitions) {
    for (int partition = 0; partition < partitions; ++partition) send(event, std::nullopt, partition);
    flush();
  }

 private:
  void send(const std::string& event, std::optional<std::string_view> key, std::optional<std::int32_t> partition) {
    ingest::OutgoingMessage message{};
    message.topic = topic_;
    message.key = key;
    message.value = event;
    message.partition = partition;
    EXPECT_TRUE(producer_->produce(message));
  }
  void flush() { EXPECT_TRUE(producer_->flush(std::chrono::seconds(60))); }

  std::string topic_;
  std::unique_ptr<ingest::Producer> producer_;
  simdjson::dom::parser parser_;
};

// How many records of the topic were durable when this life of the monitor began, by what it says.
inline std::uint64_t resumed_at(const std::string& log) {
  static const std::regex said(R"(partition (\S+): going on at (\d+))");
  std::map<std::string, std::uint64_t> first;
  for (std::sregex_iterator at(log.begin(), log.end(), said), end; at != end; ++at) {
    first.try_emplace((*at)[1], std::stoull((*at)[2]));
  }
  std::uint64_t sum = 0;
  for (const auto& [partition, offset] : first) sum += offset;
  return sum;
}

// Writes all events, and kills the monitor so often on the way: each life counts a random number of events, then more come
// in bursts, and it dies over them. The last events are written to the last life, so no kill finds the stream at its end.
// Returns how many lives began amid the events written until then: after some, with others not durable.
inline int kill_amid(MonitorProcess& monitor, TopicWriter& topic, std::span<const std::string> events, int deaths,
                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr int kBursts = 3;
  const std::size_t portion = events.size() / static_cast<std::size_t>(deaths + 1);
  int amid = 0;
  std::size_t written = 0, at_death = 0;
  const auto write = [&](std::size_t count) {
    topic.write(events.subspan(written, count));
    written += count;
  };
  for (int death = 0; death <= deaths; ++death) {
    const bool last = death == deaths;
    const auto until = last ? events.size() : portion * static_cast<std::size_t>(death + 1);
    const auto first = last ? until - written : portion / 2 + random() % (portion / 4);
    write(first);
    EXPECT_TRUE(monitor.caught_up(1 + random() % first)) << monitor.process().err();
    const auto resumed = resumed_at(monitor.process().err());
    amid += death > 0 && resumed > 0 && resumed < at_death;
    if (last) break;
    for (int burst = kBursts; burst > 0; --burst) write((until - written) / static_cast<std::size_t>(burst));
    EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
    at_death = written;
    monitor.start();
  }
  return amid;
}

}  // namespace gapwatch::testing
