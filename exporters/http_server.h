// HttpServer: the one port on which everything is served (interfaces.md, "HTTP").
//
// Routes are registered before start(); a handler runs on the server's own thread, reads immutable
// snapshots, and must not block. Limits: request head and body 64 KiB, 30 s per request, 256
// connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace gapwatch::exporters {

struct HttpRequest {
  std::string method;  // GET (HEAD is answered from GET), POST
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
  std::string authorization;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  // `path` is exact, or ends in "/" to take everything below it.
  virtual void route(std::string method, std::string path, HttpHandler handler) = 0;
  // A text/event-stream at `path` (a prefix when it ends in "/"): every subscriber gets the last
  // message published for its path, then each later one.
  virtual void publish(std::string path, std::string event_json) = 0;
  // Listens; refuses with a message naming the address and what to do (port in use, no permission).
  virtual Status start() = 0;
  virtual std::uint16_t port() const = 0;  // the one really bound
  virtual void stop() = 0;
};

std::unique_ptr<HttpServer> make_http_server(const config::HttpSettings& settings);

}  // namespace gapwatch::exporters
