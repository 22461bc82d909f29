// The page's files as built from page/ (ops/page) and compiled in (cmake/embed.cmake): index.html is served at
// "/", runbook.html at "/runbook", the others under their name, "/assets/...".
#pragma once

#include <span>
#include <string_view>

namespace gapwatch::exporters {

struct PageAsset {
  std::string_view name, content_type, body;
};

std::span<const PageAsset> page_assets();

}  // namespace gapwatch::exporters
