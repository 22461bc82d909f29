#include "exporters/http_server.h"

#include <set>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "exporters/api_json.h"
#include "exporters/http_guard.h"
#include "exporters/http_session.h"
#include "exporters/http_tls.h"

namespace gapwatch::exporters {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Route {
  std::string method, path;
  HttpHandler handler;
};

std::string listen_error(const std::string& listen, const error_code& error) {
  std::string advice = "set http.listen to another address";
  if (error == asio::error::address_in_use) {
    advice = "stop what uses the port (another gapwatch?), or set http.listen to another port (port 0 takes a free one)";
  } else if (error == asio::error::access_denied) {
    advice = "ports below 1024 need a privilege; set http.listen to a higher port";
  } else if (error == boost::system::errc::address_not_available) {
    advice = "no interface of this machine has that address; set http.listen to one that does";
  }
  return fmt::format("cannot listen on {}: {}; {}", log::printable(listen), error.message(), advice);
}

Result<tcp::endpoint> resolve(asio::io_context& io, const std::string& listen, const Listen& parsed) {
  const auto port = static_cast<std::uint16_t>(parsed.port);
  if (parsed.host == "localhost") return tcp::endpoint(asio::ip::address_v4::loopback(), port);
  error_code error;
  const auto address = asio::ip::make_address(parsed.host, error);
  if (!error) return tcp::endpoint(address, port);
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(parsed.host, std::to_string(port), error);
  if (error || found.empty()) {
    return refuse(fmt::format("cannot listen on {}: the host has no address ({}); set http.listen to an address of "
                              "this machine, as 127.0.0.1:9464", log::printable(listen), error.message()));
  }
  return found.begin()->endpoint();
}

Answer refusal(int status, std::string_view reason) {
  return {{status, "application/json", error_json(reason)}, "", false};
}

// A JSON text as one server-sent event.
std::string framed(std::string_view message, std::uint64_t id) {
  std::string out = fmt::format("id: {}\n", id);
  while (true) {
    const auto end = message.find('\n');
    out += fmt::format("data: {}\n", message.substr(0, end));
    if (end == std::string_view::npos) break;
    message.remove_prefix(end + 1);
  }
  return out + '\n';
}

class Server final : public HttpServer, public SessionOwner {
 public:
  Server(const config::HttpSettings& settings, const HttpLimits& limits)
      : settings_(settings), limits_(limits), acceptor_(io_), retry_(io_) {}
  ~Server() override { stop(); }

  void route(std::string method, std::string path, HttpHandler handler) override {
    routes_.push_back({std::move(method), std::move(path), std::move(handler)});
  }

  void publish(std::string path, std::string event_json) override;
  void keep_streams(std::set<std::string> paths) override;
  Status start() override;
  std::uint16_t port() const override { return port_; }
  void stop() override;

 private:
  struct Stream {
    HttpSession::Message last;
    std::set<std::shared_ptr<HttpSession>> subscribers;
  };

  Status listen(const tcp::endpoint& endpoint);
  void accept();
  void accepted(tcp::socket socket);
  Answer answer(GuardedRequest& request) override;
  Answer dispatch(HttpRequest& request) const;
  void subscribe(const std::string& path, const std::shared_ptr<HttpSession>& session) override;
  void closed(const std::shared_ptr<HttpSession>& session) override;
  void close_all();

  const config::HttpSettings settings_;
  const HttpLimits limits_;
  GuardSettings guard_;
  std::unique_ptr<HttpTls> tls_;  // none: plain
  std::vector<Route> routes_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::thread thread_;
  std::uint16_t port_ = 0;
  // Of the server's thread.
  std::set<std::shared_ptr<HttpSession>> sessions_;
  std::map<std::string, Stream> streams_;
  std::uint64_t last_event_ = 0;
};

Status Server::start() {
  const auto parsed = parse_listen(settings_.listen);
  if (!parsed) {
    return refuse(fmt::format("http.listen is '{}'; it must be HOST:PORT, as 127.0.0.1:9464 or [::1]:9464",
                              log::printable(settings_.listen)));
  }
  const auto endpoint = resolve(io_, settings_.listen, *parsed);
  if (!endpoint) return endpoint.error();
  guard_ = {parsed->host, endpoint->address().is_loopback(), settings_.token};
  if (!settings_.tls_certificate.empty()) {
    auto tls = HttpTls::open(settings_);
    if (!tls) return tls.error();
    tls_ = std::move(*tls);
  }
  if (auto status = listen(*endpoint); !status) return status;
  work_.emplace(io_.get_executor());
  accept();
  thread_ = std::thread([this] { io_.run(); });
  return {};
}

Status Server::listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (!error) return {};
  error_code ignored;
  acceptor_.close(ignored);
  return refuse(listen_error(settings_.listen, error));
}

void Server::stop() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] { close_all(); });
  work_.reset();
  thread_.join();
}

void Server::close_all() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  const auto open = sessions_;
  for (const auto& session : open) session->close();
}

void Server::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      accepted(std::move(socket));
      accept();
      return;
    }
    // Out of descriptors, or a connection that went away: the listener itself is well.
    retry_.expires_after(std::chrono::milliseconds(50));
    retry_.async_wait([this](const error_code& cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

void Server::accepted(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (sessions_.size() >= limits_.connections && tls_ != nullptr) return;  // closed: nothing can be said before a handshake
  if (sessions_.size() >= limits_.connections) {
    constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 54\r\nRetry-After: 1\r\n"
        "Connection: close\r\n\r\n{\"error\":\"too many connections; close some and retry\"}";
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kFull), ignored);
    return;
  }
  HttpStream stream(std::move(socket), tls_ != nullptr ? tls_->context() : nullptr);
  const auto session = std::make_shared<HttpSession>(std::move(stream), *this, limits_);
  sessions_.insert(session);
  session->start();
}

void Server::closed(const std::shared_ptr<HttpSession>& session) {
  sessions_.erase(session);
  for (auto& [path, stream] : streams_) stream.subscribers.erase(session);
}

void Server::subscribe(const std::string& path, const std::shared_ptr<HttpSession>& session) {
  auto& stream = streams_[path];
  stream.subscribers.insert(session);
  session->push(stream.last);
}

void Server::publish(std::string path, std::string event_json) {
  asio::post(io_, [this, path = std::move(path), event_json = std::move(event_json)] {
    auto& stream = streams_[path];
    stream.last = std::make_shared<const std::string>(framed(event_json, ++last_event_));
    const auto subscribers = stream.subscribers;
    for (const auto& session : subscribers) session->push(stream.last);
  });
}

void Server::keep_streams(std::set<std::string> paths) {
  asio::post(io_, [this, paths = std::move(paths)] {
    std::set<std::shared_ptr<HttpSession>> ended;
    std::erase_if(streams_, [&](auto& entry) {
      if (paths.contains(entry.first)) return false;
      ended.insert(entry.second.subscribers.begin(), entry.second.subscribers.end());
      return true;
    });
    for (const auto& session : ended) session->close();
  });
}

Answer Server::answer(GuardedRequest& guarded) {
  auto& request = guarded.request;
  if (!guarded.host && guarded.old_client) guarded.host = "localhost";
  if (const auto verdict = check_host(guard_, guarded.host); verdict.status != 0) {
    return refusal(verdict.status, verdict.reason);
  }
  auto target = parse_target(guarded.target);
  if (!target) return refusal(400, "the request's target is not a path this server can read");
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads) {
    const auto verdict = check_write(guard_, *guarded.host, guarded.origin, request.authorization);
    if (verdict.status != 0) return refusal(verdict.status, verdict.reason);
  }
  if (reads && streams_.contains(request.path)) return {{}, "", true};
  try {
    return dispatch(request);
  } catch (const std::exception& failure) {
    log::error(fmt::format("answering {} failed: {}", log::printable(request.path), failure.what()));
    return refusal(500, "this request could not be answered; the log says why");
  }
}

Answer Server::dispatch(HttpRequest& request) const {
  std::string_view best;
  for (const auto& route : routes_) {
    const bool below = route.path.ends_with('/') && request.path.starts_with(route.path);
    if ((below || request.path == route.path) && route.path.size() > best.size()) best = route.path;
  }
  if (best.empty()) return refusal(404, "there is nothing here");
  std::set<std::string> allowed;
  const auto method = request.method == "HEAD" ? "GET" : request.method;
  for (const auto& route : routes_) {
    if (route.path != best) continue;
    if (route.method == method) {
      request.method = method;
      return {route.handler(request), "", false};
    }
    allowed.insert(route.method);
    if (route.method == "GET") allowed.insert("HEAD");
  }
  auto out = refusal(405, "this method is not for this path");
  for (const auto& name : allowed) out.allow += (out.allow.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

std::unique_ptr<HttpServer> make_http_server(const config::HttpSettings& settings, const HttpLimits& limits) {
  return std::make_unique<Server>(settings, limits);
}

}  // namespace gapwatch::exporters
