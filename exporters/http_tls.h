// HttpTls: certificate and key of the HTTP server, and whom it lets in.
//
// TLS 1.2 and 1.3. The files are looked at again when one of them has changed, so a renewed certificate is taken without
// a restart; while the new files do not fit together, the old ones serve and the log says why.
//
// Threads: one. Cost: three stat calls a connection.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "base/result.h"
#include "config/settings.h"

namespace gapwatch::exporters {

class HttpTls {
 public:
  // Refuses files that cannot be read or do not belong together, naming setting and file.
  static Result<std::unique_ptr<HttpTls>> open(const config::HttpSettings& settings);
  // For the next connection; good for as long as it is held.
  std::shared_ptr<boost::asio::ssl::context> context();

 private:
  explicit HttpTls(const config::HttpSettings& settings) : settings_(settings) {}
  using Times = std::map<std::string, std::filesystem::file_time_type>;
  Times times() const;
  Result<std::shared_ptr<boost::asio::ssl::context>> read() const;

  const config::HttpSettings settings_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  Times read_at_;
};

}  // namespace gapwatch::exporters
