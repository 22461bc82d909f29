// The command line: which command, with which options (interfaces.md, "Command line").
//
// Each command lives in a file of its own and adds itself to the parser; cli.cc has one line for each.
// Exit status: 0 ok; 1 the run failed; 2 wrong usage or config. Data goes to standard output, all else
// to standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gapwatch::app {

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2;

// Set by the command that was chosen; run after parsing.
using Chosen = std::function<int()>;

void add_run(CLI::App& root, Chosen& chosen);
void add_demo(CLI::App& root, Chosen& chosen);
void add_report(CLI::App& root, Chosen& chosen);
void add_decode(CLI::App& root, Chosen& chosen);
void add_simulate(CLI::App& root, Chosen& chosen);
void add_power(CLI::App& root, Chosen& chosen);
void add_calibrate(CLI::App& root, Chosen& chosen);
void add_replay(CLI::App& root, Chosen& chosen);
void add_check(CLI::App& root, Chosen& chosen);
void add_state(CLI::App& root, Chosen& chosen);
void add_version(CLI::App& root, Chosen& chosen);
void add_help(CLI::App& root, Chosen& chosen);

// Says the error on standard error and gives the exit status it stands for.
int fail(const Error& error, int status = kFailed);
// Writes a command's data to standard output; kFailed, said, where that cannot be written.
int print(std::string_view text);

int run_cli(int argc, char** argv);

}  // namespace gapwatch::app
