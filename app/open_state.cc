#include "app/open_state.h"

namespace gapwatch::app {

Result<std::unique_ptr<OpenedState>> open_state(const std::string& path, config::Settings settings) {
  auto opened = std::make_unique<OpenedState>();
  opened->settings = std::move(settings);
  opened->settings.max_policies = UINT32_MAX;
  opened->settings.max_prompts = UINT64_MAX;
  opened->settings.state.cache_bytes = UINT64_MAX;
  state::RocksOptions options;
  options.path = path;
  options.read_only = true;
  auto store = state::open_rocks_store(options);
  if (!store) return store.error();
  opened->store = std::move(*store);
  opened->ledger = std::make_unique<state::Ledger>(opened->settings, opened->store.get());
  auto meta = opened->store->get("M");
  if (!meta) return meta.error();
  if (!*meta) return refuse("state folder " + path + " holds no gapwatch state");
  if (auto status = opened->ledger->open(); !status) return status.error();
  if (auto status = opened->ledger->take_all(); !status) return status.error();
  return opened;
}

}  // namespace gapwatch::app
