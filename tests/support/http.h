// One HTTP request over a fresh connection to a port of this machine.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <string>

namespace gapwatch::testing {

struct HttpAnswer {
  int status = 0;  // 0: nobody answered
  std::string body;
};

inline HttpAnswer http_request(std::uint16_t port, const std::string& method, const std::string& target) {
  namespace beast = boost::beast;
  boost::asio::io_context context;
  beast::tcp_stream stream(context);
  stream.expires_after(std::chrono::seconds(20));
  beast::error_code error;
  stream.connect({boost::asio::ip::make_address("127.0.0.1"), port}, error);
  if (error) return {};
  beast::http::request<beast::http::string_body> request{beast::http::string_to_verb(method), target, 11};
  request.set(beast::http::field::host, "127.0.0.1:" + std::to_string(port));
  request.set(beast::http::field::connection, "close");
  request.prepare_payload();
  beast::http::write(stream, request, error);
  if (error) return {};
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> parser;
  parser.body_limit(256u << 20);
  beast::http::read(stream, buffer, parser, error);
  if (error && error != beast::http::error::end_of_stream) return {};
  return {static_cast<int>(parser.get().result_int()), parser.get().body()};
}

inline HttpAnswer http_get(std::uint16_t port, const std::string& target) { return http_request(port, "GET", target); }

}  // namespace gapwatch::testing
