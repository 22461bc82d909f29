#include "app/cli.h"
#include "app/load_config.h"
#include "base/log.h"
#include "config/schema.h"
#include "ingest/kafka_cautions.h"

namespace gapwatch::app {

void add_check(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("check", "Checks a config: every fault at once, else the settings in force");
  auto path = std::make_shared<std::string>();
  command->add_option("--config", *path, "The config file")->required();
  command->callback([&chosen, path] {
    chosen = [path] {
      const auto settings = load_config(*path);
      if (!settings) return fail(settings.error(), kUsage);
      if (settings->source.kafka) {
        for (const auto& caution : ingest::kafka_cautions(*settings->source.kafka)) log::warn(caution);
      }
      return print(config::describe(*settings));
    };
  });
}

}  // namespace gapwatch::app
