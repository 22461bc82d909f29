#include "app/cli.h"

#include <fmt/format.h>

#include <cstdio>

#include "app/version.h"

namespace gapwatch::app {

int fail(const Error& error, int status) {
  const auto line = "gapwatch: " + error.message + "\n";
  // Where standard error cannot be written either, the exit status is all there is to say.
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  return status;
}

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return kOk;
  return fail(stop("standard output cannot be written"));
}

void add_version(CLI::App& root, Chosen& chosen) {
  root.add_subcommand("version", "The version, and the revision it was built from")->callback([&chosen] {
    chosen = [] { return print(fmt::format("gapwatch {} ({})\n", kVersion, kRevision)); };
  });
}

int run_cli(int argc, char** argv) {
  CLI::App root{"Tells the real headroom of a pool of models from sampling noise, on a live evaluation stream.",
                "gapwatch"};
  root.require_subcommand(1);
  root.failure_message([](const CLI::App* app, const CLI::Error& error) {
    const auto chosen = app->get_subcommands();
    return fmt::format("gapwatch: {}; see gapwatch help{}\n", error.what(),
                       chosen.empty() ? "" : " " + chosen.front()->get_name());
  });
  Chosen chosen;
  add_run(root, chosen);
  add_demo(root, chosen);
  add_report(root, chosen);
  add_decode(root, chosen);
  add_simulate(root, chosen);
  add_power(root, chosen);
  add_calibrate(root, chosen);
  add_replay(root, chosen);
  add_check(root, chosen);
  add_state(root, chosen);
  add_version(root, chosen);
  add_help(root, chosen);
  root.set_version_flag("--version", std::string("gapwatch ") + kVersion);
  if (argc > 1 && argv[1][0] != '-') {
    const std::string name = argv[1];
    const auto found = root.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
    if (found.empty()) return fail(refuse("no command \"" + name + "\"; gapwatch help lists them"), kUsage);
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return root.exit(error) == 0 ? kOk : kUsage;
  }
  return chosen();
}

}  // namespace gapwatch::app
