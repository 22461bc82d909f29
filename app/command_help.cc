#include "app/cli.h"
#include "config/schema.h"

namespace gapwatch::app {

void add_help(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("help", "What a command does; `help config` for every setting");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "A command, or: config");
  command->callback([&root, &chosen, topic] {
    chosen = [&root, topic] {
      if (topic->empty()) return print(root.help());
      if (*topic == "config") return print(config::config_reference());
      const auto found = root.get_subcommands([&](const CLI::App* one) { return one->get_name() == *topic; });
      if (found.empty()) return fail(refuse("no command \"" + *topic + "\"; gapwatch help lists them"), kUsage);
      return print(found.front()->help());
    };
  });
}

}  // namespace gapwatch::app
