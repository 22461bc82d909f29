// One connection of the HTTP server. All of it runs on the server's thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "exporters/http_server.h"
#include "exporters/http_stream.h"

namespace gapwatch::exporters {

// A request with what the guards look at, and what to do about it.
struct GuardedRequest {
  HttpRequest request;
  std::string target;
  std::optional<std::string> host;
  std::string origin;
  bool old_client = false;  // HTTP/1.0, which need not name a host
};

struct Answer {
  HttpResponse response;
  std::string allow;    // of a 405
  bool stream = false;  // an event stream begins instead of the response
};

class HttpSession;

// What a session asks of its server.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  virtual Answer answer(GuardedRequest& request) = 0;
  virtual void subscribe(const std::string& path, const std::shared_ptr<HttpSession>& session) = 0;
  virtual void closed(const std::shared_ptr<HttpSession>& session) = 0;
};

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  using Message = std::shared_ptr<const std::string>;

  HttpSession(HttpStream stream, SessionOwner& owner, const HttpLimits& limits);
  void start();
  // Sends a message on an event stream, or replaces the one that waits behind a slow write.
  void push(Message message);
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void read_request();
  void on_request(const boost::system::error_code& error);
  void respond(const Answer& answer, bool head, bool keep_alive);
  template <typename Body>
  void write(boost::beast::http::response<Body> response, const Answer& answer);
  void begin_stream(const std::string& path);
  void watch_stream();
  void send(Message message);
  void linger();
  void drain();
  // After `time` without another deadline(), calls `then`.
  void deadline(std::chrono::milliseconds time, void (HttpSession::*then)());
  void heartbeat();

  HttpStream stream_;
  boost::asio::steady_timer timer_;
  std::uint64_t timer_round_ = 0;
  SessionOwner& owner_;
  const HttpLimits limits_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Message sending_, waiting_;  // of an event stream
  bool closed_ = false;
};

}  // namespace gapwatch::exporters
