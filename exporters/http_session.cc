#include "exporters/http_session.h"

#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "exporters/api_json.h"

namespace gapwatch::exporters {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::chrono::milliseconds kLingerTime{2'000};

constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

void set_common_fields(http::fields& fields) {
  fields.set("Content-Security-Policy", kContentSecurityPolicy);
  fields.set("X-Frame-Options", "DENY");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set(http::field::cache_control, "no-store");
}

Answer refusal(int status, std::string_view reason) {
  return {{status, "application/json", error_json(reason)}, "", false};
}

// What a request that could not be read is answered with; status 0: nothing, the peer is gone.
Answer read_failure(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return refusal(431, "the request's head is longer than the limit");
  }
  if (error == http::error::body_limit) return refusal(413, "the request's body is longer than the limit");
  if (error == http::error::end_of_stream || error == http::error::partial_message) return {{0, "", ""}, "", false};
  if (error.category() == http::make_error_code(http::error::bad_method).category()) {
    return refusal(400, "the request is not well-formed HTTP");
  }
  return {{0, "", ""}, "", false};
}

GuardedRequest guarded(http::request<http::string_body>& message) {
  GuardedRequest out;
  out.request.method = std::string(message.method_string());
  out.request.authorization = std::string(message[http::field::authorization]);
  out.request.body = std::move(message.body());
  out.target = std::string(message.target());
  out.origin = std::string(message[http::field::origin]);
  out.old_client = message.version() < 11;
  if (message.count(http::field::host) == 1) out.host = std::string(message[http::field::host]);
  return out;
}

}  // namespace

HttpSession::HttpSession(HttpStream stream, SessionOwner& owner, const HttpLimits& limits)
    : stream_(std::move(stream)), timer_(stream_.get_executor()), owner_(owner), limits_(limits),
      buffer_(2 * limits.request_bytes) {}

void HttpSession::start() {
  if (stream_.tls() == nullptr) {
    read_request();
    return;
  }
  deadline(limits_.request_time, &HttpSession::close);
  stream_.tls()->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](const error_code& error) {
    if (self->closed_) return;
    if (error) {
      self->close();
    } else {
      self->read_request();
    }
  });
}

void HttpSession::deadline(std::chrono::milliseconds time, void (HttpSession::*then)()) {
  const auto round = ++timer_round_;
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), round, then](const error_code& error) {
    if (!error && round == self->timer_round_ && !self->closed_) (self.get()->*then)();
  });
}

void HttpSession::close() {
  if (closed_) return;
  closed_ = true;
  ++timer_round_;
  timer_.cancel();
  error_code ignored;
  stream_.socket().close(ignored);
  owner_.closed(shared_from_this());
}

void HttpSession::read_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.request_bytes));
  parser_->body_limit(limits_.request_bytes);
  deadline(limits_.request_time, &HttpSession::close);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, std::size_t) {
    if (!self->closed_) self->on_request(error);
  });
}

void HttpSession::on_request(const error_code& error) {
  if (error) {
    const auto answer = read_failure(error);
    if (answer.response.status != 0) {
      respond(answer, false, false);
    } else if (error == http::error::end_of_stream) {
      linger();
    } else {
      close();
    }
    return;
  }
  const bool head = parser_->get().method() == http::verb::head;
  const bool keep_alive = parser_->get().keep_alive();
  auto request = guarded(parser_->get());
  const auto answer = owner_.answer(request);
  if (!answer.stream) {
    respond(answer, head, keep_alive);
  } else if (head) {
    respond({{200, "text/event-stream", ""}, "", false}, true, keep_alive);
  } else {
    begin_stream(request.request.path);
  }
}

template <typename Body>
void HttpSession::write(http::response<Body> response, const Answer& answer) {
  const bool keep_alive = response.keep_alive();
  set_common_fields(response);
  response.set(http::field::content_type, answer.response.content_type);
  if (!answer.allow.empty()) response.set(http::field::allow, answer.allow);
  if (answer.response.status == 401) response.set(http::field::www_authenticate, "Bearer realm=\"gapwatch\"");
  const auto held = std::make_shared<http::response<Body>>(std::move(response));
  deadline(limits_.request_time, &HttpSession::close);
  http::async_write(stream_, *held, [self = shared_from_this(), held, keep_alive](const error_code& error, std::size_t) {
    if (self->closed_) return;
    if (error) {
      self->close();
    } else if (keep_alive) {
      self->read_request();
    } else {
      self->linger();
    }
  });
}

void HttpSession::respond(const Answer& answer, bool head, bool keep_alive) {
  const auto status = static_cast<http::status>(answer.response.status);
  if (head) {
    http::response<http::empty_body> response(status, 11);
    response.keep_alive(keep_alive);
    response.content_length(answer.response.body.size());
    write(std::move(response), answer);
    return;
  }
  http::response<http::string_body> response(status, 11, answer.response.body);
  response.keep_alive(keep_alive);
  response.prepare_payload();
  write(std::move(response), answer);
}

// An event stream has no length: it ends with the connection.
void HttpSession::begin_stream(const std::string& path) {
  http::response<http::empty_body> head(http::status::ok, 11);
  set_common_fields(head);
  head.set(http::field::content_type, "text/event-stream");
  head.set(http::field::connection, "close");
  std::ostringstream text;
  text << head.base() << "retry: 2000\n\n";
  send(std::make_shared<const std::string>(std::move(text).str()));
  watch_stream();
  owner_.subscribe(path, shared_from_this());
}

// Whatever a subscriber still sends is dropped; its end ends the stream.
void HttpSession::watch_stream() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(1024), [self = shared_from_this()](const error_code& error, std::size_t) {
    if (self->closed_) return;
    if (error) {
      self->close();
    } else {
      self->watch_stream();
    }
  });
}

void HttpSession::push(Message message) {
  if (closed_) return;
  if (sending_) {
    waiting_ = std::move(message);
  } else {
    send(std::move(message));
  }
}

void HttpSession::send(Message message) {
  sending_ = std::move(message);
  deadline(limits_.request_time, &HttpSession::close);
  asio::async_write(stream_, asio::buffer(*sending_), [self = shared_from_this()](const error_code& error, std::size_t) {
    self->sending_.reset();
    if (self->closed_) return;
    if (error) {
      self->close();
    } else if (self->waiting_) {
      self->send(std::exchange(self->waiting_, nullptr));
    } else {
      self->deadline(self->limits_.heartbeat, &HttpSession::heartbeat);
    }
  });
}

void HttpSession::heartbeat() { send(std::make_shared<const std::string>(": still here\n\n")); }

// Closing with unread bytes would reset the connection and may take the response with it: say that
// no more comes, and read until the peer is done.
void HttpSession::linger() {
  if (stream_.tls() != nullptr) {
    deadline(kLingerTime, &HttpSession::close);
    stream_.tls()->async_shutdown([self = shared_from_this()](const error_code&) { self->close(); });
    return;
  }
  error_code error;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  if (error) {
    close();
    return;
  }
  deadline(kLingerTime, &HttpSession::close);
  drain();
}

void HttpSession::drain() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](const error_code& error, std::size_t) {
    if (self->closed_) return;
    if (error) {
      self->close();
    } else {
      self->drain();
    }
  });
}

}  // namespace gapwatch::exporters
