#include <fmt/format.h>

#include "app/cli.h"
#include "config/schema.h"

namespace gapwatch::app {

void add_help(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("help", "What a command does; `help config` for every setting");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "A command, or: config");
  command->callback([&root, &chosen, topic] {
    chosen = [&root, topic] {
      if (topic->empty()) {
        fmt::print("{}", root.help());
      } else if (*topic == "config") {
        fmt::print("{}", config::config_reference());
      } else {
        const auto found = root.get_subcommands([&](const CLI::App* one) { return one->get_name() == *topic; });
        if (found.empty()) return fail(refuse("no command \"" + *topic + "\"; gapwatch help lists them"), kUsage);
        fmt::print("{}", found.front()->help());
      }
      return kOk;
    };
  });
}

}  // namespace gapwatch::app
