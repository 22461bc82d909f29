// The page's files as compiled in (page/, cmake/embed.cmake): index.html is served at "/", the others
// below "/assets/".
#pragma once

#include <span>
#include <string_view>

namespace gapwatch::exporters {

struct PageAsset {
  std::string_view name, content_type, body;
};

std::span<const PageAsset> page_assets();

}  // namespace gapwatch::exporters
