#include "app/cli.h"

#include <fmt/format.h>

#include <cstdio>

#include "app/version.h"

namespace gapwatch::app {

int fail(const Error& error, int status) {
  fmt::print(stderr, "gapwatch: {}\n", error.message);
  return status;
}

void add_version(CLI::App& root, Chosen& chosen) {
  root.add_subcommand("version", "The version, and the revision it was built from")->callback([&chosen] {
    chosen = [] {
      fmt::print("gapwatch {} ({})\n", kVersion, kRevision);
      return kOk;
    };
  });
}

int run_cli(int argc, char** argv) {
  CLI::App root{"Tells the real headroom of a pool of models from sampling noise, on a live evaluation stream.",
                "gapwatch"};
  root.require_subcommand(1);
  root.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("gapwatch: {}; see gapwatch help\n", error.what());
  });
  Chosen chosen;
  add_run(root, chosen);
  add_demo(root, chosen);
  add_report(root, chosen);
  add_simulate(root, chosen);
  add_replay(root, chosen);
  add_check(root, chosen);
  add_state(root, chosen);
  add_version(root, chosen);
  add_help(root, chosen);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return root.exit(error) == 0 ? kOk : kUsage;
  }
  return chosen();
}

}  // namespace gapwatch::app
