#include <fmt/format.h>

#include <csignal>

#include "app/cli.h"
#include "app/daemon.h"
#include "app/load_config.h"
#include "app/signals.h"
#include "base/log.h"

namespace gapwatch::app {
namespace {

int run(const std::string& path) {
  block_signals();  // first of all: one that comes early waits until there is somebody to hear it
  auto settings = load_config(path);
  if (!settings) return fail(settings.error(), kUsage);
  const auto host = settings->http.listen.substr(0, settings->http.listen.rfind(':'));
  const auto* scheme = settings->http.tls_certificate.empty() ? "http" : "https";
  const SystemClock clock;
  auto daemon = Daemon::start(std::move(*settings), clock, [path] { return load_config(path); });
  if (!daemon) return fail(daemon.error());
  log::info(fmt::format("watching; page and metrics on port {0}: {2}://{1}:{0}/", (*daemon)->port(), host, scheme));
  while ((*daemon)->running()) {
    const auto signal = wait_for_signal(std::chrono::milliseconds(200));
    if (!signal) continue;
    if (*signal == SIGHUP) {
      (*daemon)->reload();
      continue;
    }
    log::info("stopping: what was counted is made durable");
    break;
  }
  if (auto status = (*daemon)->stop(); !status) return fail(status.error());
  return kOk;
}

}  // namespace

void add_run(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("run", "The daemon: counts a stream, serves the page, the API and /metrics");
  auto path = std::make_shared<std::string>();
  command->add_option("--config", *path, "The config file")->required();
  command->callback([&chosen, path] { chosen = [path] { return run(*path); }; });
}

}  // namespace gapwatch::app
