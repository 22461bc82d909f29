// HttpServer: the one port on which everything is served (interfaces.md, "HTTP").
//
// Routes are registered before start(); a handler runs on the server's own thread, reads immutable
// snapshots, must not block and must not call stop(). publish(), keep_streams() and stop() may be called by any thread.
//
// HTTP/1.1 with keep-alive; HEAD is answered where GET is; an error is {"error": text}. Every response forbids
// scripts and requests from elsewhere, sniffing, framing and storing. On loopback the Host header must
// name loopback or the configured host; what is not GET or HEAD needs the token where one is
// configured and always off loopback, and comes from no page of another origin. With http.tls all of it is HTTPS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
  // `path` is exact, or ends in "/" to take everything below it; the longest match answers.
  virtual void route(std::string method, std::string path, HttpHandler handler) = 0;
  // A text/event-stream at exactly `path`, from the first publish() on: every subscriber gets the last
  // message, then each later one; who reads too slowly misses messages, never the last.
  virtual void publish(std::string path, std::string event_json) = 0;
  // Ends all other streams: their subscribers are disconnected, and their paths answered by a route, if any.
  virtual void keep_streams(std::set<std::string> paths) = 0;
  // Listens; refuses with a message naming the address, or the file of http.tls, and what to do.
  virtual Status start() = 0;
  virtual std::uint16_t port() const = 0;  // the one really bound
  virtual void stop() = 0;
};

struct HttpLimits {
  std::size_t request_bytes = 64 << 10;  // of the head, and of the body; 431 and 413 beyond
  std::chrono::milliseconds request_time{30'000};  // to receive a request, to take a response, and between requests
  std::size_t connections = 256;  // 503 beyond
  std::chrono::milliseconds heartbeat{15'000};  // a comment on a silent event stream
};

std::unique_ptr<HttpServer> make_http_server(const config::HttpSettings& settings, const HttpLimits& limits = {});

}  // namespace gapwatch::exporters
