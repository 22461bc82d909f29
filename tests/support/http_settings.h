// Settings of an HTTP server in a test.
#pragma once

#include <string>

#include "config/settings.h"

namespace gapwatch::exporters {

inline config::HttpSettings http_on(std::string listen = "127.0.0.1:0", std::string token = "") {
  config::HttpSettings settings;
  settings.listen = std::move(listen);
  settings.token = std::move(token);
  return settings;
}

}  // namespace gapwatch::exporters
