// HttpStream: the bytes of one connection, over TLS or not. An asynchronous stream as Asio and Beast want it.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace gapwatch::exporters {

class HttpStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Tls = boost::asio::ssl::stream<Socket>;
  using executor_type = Socket::executor_type;

  // Without a context: plain.
  HttpStream(Socket socket, std::shared_ptr<boost::asio::ssl::context> context) : context_(std::move(context)) {
    if (context_ == nullptr) {
      stream_.emplace<Socket>(std::move(socket));
    } else {
      stream_.emplace<Tls>(std::move(socket), *context_);
    }
  }

  executor_type get_executor() { return socket().get_executor(); }
  Socket& socket() { return tls() != nullptr ? tls()->next_layer() : std::get<Socket>(stream_); }
  // Null where it is plain.
  Tls* tls() { return std::get_if<Tls>(&stream_); }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls() != nullptr) {
      tls()->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      socket().async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls() != nullptr) {
      tls()->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      socket().async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

 private:
  struct Empty {};
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::variant<Empty, Socket, Tls> stream_;
};

}  // namespace gapwatch::exporters
