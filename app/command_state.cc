#include <fmt/format.h>

#include <cstdio>

#include "app/cli.h"
#include "app/open_state.h"
#include "app/state_export.h"

namespace gapwatch::app {
namespace {

std::string describe_shard(const state::Ledger& ledger, const state::Shard& shard) {
  std::map<std::string, std::array<std::uint64_t, 4>> channels;  // prompts, cells, trials, unscored
  for (const auto& row : shard.rows()) {
    const auto& channel = ledger.catalog().at(row.channel);
    auto& sums = channels[channel.eval_name + " / " + channel.scorer];
    ++sums[0];
    for (const auto& cell : row.cells) {
      sums[1] += !cell.empty();
      sums[2] += cell.trials;
      sums[3] += cell.unscored;
    }
  }
  auto text = fmt::format("partition {}/{}: next offset {}\n", shard.topic(), shard.partition(),
                          shard.next_offset().value_or(0));
  for (const auto& [name, sums] : channels) {
    text += fmt::format("  {}: {} prompts, {} cells, {} trials, {} unscored\n", name, sums[0], sums[1], sums[2], sums[3]);
  }
  return text;
}

int inspect(const OpenedState& opened) {
  auto text = fmt::format("{} partitions, {} prompts, {} cells, {} bytes on disk\n", opened.ledger->shards().size(),
                          opened.ledger->prompts(), opened.ledger->cells(), opened.store->size_bytes());
  for (const auto& [place, shard] : opened.ledger->shards()) text += describe_shard(*opened.ledger, *shard);
  return print(text);
}

int export_events(const OpenedState& opened) {
  const auto written = write_events(*opened.ledger, [](std::string_view line) {
    return std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
  });
  if (!written || std::fflush(stdout) != 0) return fail(stop("the events could not be written to standard output"));
  return kOk;
}

int verify(const OpenedState& opened) {
  // Reading checked every key and value; what is left is that the counts add up to what they say.
  for (const auto& [place, shard] : opened.ledger->shards()) {
    for (const auto& row : shard->rows()) {
      for (const auto& cell : row.cells) {
        const auto counts = identified(cell);
        if (counts.trials > cell.trials || counts.successes > cell.successes || counts.unscored > cell.unscored) {
          return fail(stop(fmt::format("partition {}/{}, prompt \"{}\": more draws than are counted; move the folder "
                                       "away to count the stream afresh, or restore a backup",
                                       place.first, place.second, row.prompt)));
        }
      }
    }
  }
  return print(fmt::format("ok: {} partitions, {} prompts, {} cells\n", opened.ledger->shards().size(),
                           opened.ledger->prompts(), opened.ledger->cells()));
}

}  // namespace

void add_state(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("state", "Looks into a state folder: inspect, export (as events), verify");
  command->require_subcommand(1);
  auto path = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, int (*action)(const OpenedState&)) {
    auto* one = command->add_subcommand(name, help);
    one->add_option("DIR", *path, "The state folder")->required();
    one->callback([&chosen, path, action] {
      chosen = [path, action] {
        config::Settings nothing_asked;
        nothing_asked.max_monitors = 0;
        const auto opened = open_state(*path, std::move(nothing_asked));
        return opened ? action(**opened) : fail(opened.error());
      };
    });
  };
  add("inspect", "What is in it: partitions, offsets, prompts, cells, trials", inspect);
  add("export", "Everything counted, as native events, ordered by name", export_events);
  add("verify", "Reads every byte and checks that the counts add up", verify);
}

}  // namespace gapwatch::app
