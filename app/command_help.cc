#include "app/cli.h"
#include "config/mapping.h"
#include "config/schema.h"

namespace gapwatch::app {
namespace {

// CLI::App::help() gives that of the command chosen, which is `help`.
std::string help_of(const CLI::App& app, const std::string& before) {
  return app.get_formatter()->make_help(&app, (before.empty() ? "" : before + " ") + app.get_name(), CLI::AppFormatMode::Normal);
}

}  // namespace

void add_help(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("help", "What a command does; `help config` for every setting, `help lm-eval` for a format");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "A command, config, or the name of a format: its mapping, to be copied");
  command->callback([&root, &chosen, topic] {
    chosen = [&root, topic] {
      if (topic->empty()) return print(help_of(root, ""));
      if (*topic == "config") return print(config::config_reference());
      for (const auto& preset : config::presets()) {
        if (preset.name == *topic) return print(preset.text);
      }
      const auto found = root.get_subcommands([&](const CLI::App* one) { return one->get_name() == *topic; });
      if (found.empty()) return fail(refuse("no command \"" + *topic + "\"; gapwatch help lists them"), kUsage);
      return print(help_of(*found.front(), root.get_name()));
    };
  });
}

}  // namespace gapwatch::app
