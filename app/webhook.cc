#include "app/webhook.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "app/version.h"

namespace gapwatch::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using Tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;

struct Address {
  bool secure = false;
  std::string host, port, target;
};

// Of an address that the config has accepted.
Address parse(const std::string& url) {
  Address address;
  address.secure = url.starts_with("https://");
  const auto begin = url.find("://") + 3;
  const auto end = std::min(url.find_first_of("/?#", begin), url.size());
  auto host = url.substr(begin, end - begin);
  address.target = url.substr(end, std::min(url.find('#', end), url.size()) - end);
  if (!address.target.starts_with('/')) address.target.insert(0, "/");
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    address.port = host.substr(colon + 1);
    host.resize(colon);
  }
  if (address.port.empty()) address.port = address.secure ? "443" : "80";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host;
  return address;
}

Request request_of(const Post& post, const Address& address) {
  Request request{http::verb::post, address.target, 11};
  const bool standard = address.port == (address.secure ? "443" : "80");
  const bool v6 = address.host.find(':') != std::string::npos;
  const auto host = v6 ? "[" + address.host + "]" : address.host;
  request.set(http::field::host, standard ? host : host + ":" + address.port);
  request.set(http::field::user_agent, std::string("gapwatch/") + kVersion);
  request.set(http::field::content_type, "application/json");
  request.set("Idempotency-Key", post.key);
  request.keep_alive(false);
  request.body() = post.body;
  request.prepare_payload();
  return request;
}

PostResult judge(unsigned status) {
  const auto said = "answered " + std::to_string(status);
  if (status >= 200 && status < 300) return {PostOutcome::kTaken, said};
  return {status == 504 ? PostOutcome::kUnknown : PostOutcome::kRefused, said};
}

// Over a stream that is connected. `sent` is set once all of the request has gone.
template <typename Stream>
asio::awaitable<PostResult> exchange(Stream& stream, const Request& request, bool& sent) {
  co_await http::async_write(stream, request, use_awaitable);
  sent = true;
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(1 << 20);
  co_await http::async_read_header(stream, buffer, parser, use_awaitable);
  co_return judge(parser.get().result_int());
}

asio::awaitable<PostResult> attempt(const Post& post, std::chrono::milliseconds time, bool& sent) {
  const auto address = parse(post.url);
  const auto request = request_of(post, address);
  const auto executor = co_await asio::this_coro::executor;
  Tcp::resolver resolver(executor);
  const auto places = co_await resolver.async_resolve(address.host, address.port, use_awaitable);
  if (!address.secure) {
    beast::tcp_stream stream(executor);
    stream.expires_after(time);
    co_await stream.async_connect(places, use_awaitable);
    co_return co_await exchange(stream, request, sent);
  }
  asio::ssl::context context(asio::ssl::context::tls_client);
  context.set_default_verify_paths();
  context.set_verify_mode(asio::ssl::verify_peer);
  beast::ssl_stream<beast::tcp_stream> stream(executor, context);
  stream.set_verify_callback(asio::ssl::host_name_verification(address.host));
  std::string name = address.host;  // OpenSSL's control call takes no const
  SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  beast::get_lowest_layer(stream).expires_after(time);
  co_await beast::get_lowest_layer(stream).async_connect(places, use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
  co_return co_await exchange(stream, request, sent);
}

}  // namespace

class Webhook::Worker {
 public:
  explicit Worker(std::chrono::milliseconds time) : time_(time), thread_([this] { context_.run(); }) {}
  ~Worker() {
    context_.stop();
    thread_.join();
  }

  void post(Post post) { asio::co_spawn(context_, run(std::move(post)), asio::detached); }

  std::optional<PostEnd> result() {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) return std::nullopt;
    auto end = std::move(ended_.back());
    ended_.pop_back();
    return end;
  }

 private:
  asio::awaitable<void> run(Post post) {
    bool sent = false;
    PostResult result;
    try {
      result = co_await attempt(post, time_, sent);
    } catch (const std::exception& error) {
      const auto* system = dynamic_cast<const boost::system::system_error*>(&error);
      const auto what = system != nullptr ? system->code().message() : std::string(error.what());
      result = {sent ? PostOutcome::kUnknown : PostOutcome::kRefused, what};
    }
    const std::lock_guard lock(mutex_);
    ended_.push_back({post.key, std::move(result)});
  }

  const std::chrono::milliseconds time_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::mutex mutex_;
  std::vector<PostEnd> ended_;
  std::thread thread_;
};

Webhook::Webhook(std::chrono::milliseconds time) : worker_(std::make_unique<Worker>(time)) {}
Webhook::~Webhook() = default;
void Webhook::post(Post post) { worker_->post(std::move(post)); }
std::optional<PostEnd> Webhook::result() { return worker_->result(); }

}  // namespace gapwatch::app
