#include "tests/exporters/blocking_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace gapwatch::exporters {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

ClientResponse parse_head(const std::string& head) {
  ClientResponse out;
  out.head = head;
  out.status = std::stoi(head.substr(9, 3));
  for (auto at = head.find("\r\n") + 2; at < head.size();) {
    const auto end = head.find("\r\n", at);
    const auto line = head.substr(at, end - at);
    at = end + 2;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) out.fields[lower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  return out;
}

}  // namespace

BlockingClient::BlockingClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval patience{20, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect");
  }
}

BlockingClient::~BlockingClient() { ::close(socket_); }

bool BlockingClient::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool BlockingClient::fill() {
  char chunk[4096];
  const auto count = ::recv(socket_, chunk, sizeof chunk, 0);
  if (count <= 0) return false;
  buffer_.append(chunk, static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> BlockingClient::read_until(const std::string& end) {
  auto at = buffer_.find(end);
  while (at == std::string::npos) {
    if (!fill()) return std::nullopt;
    at = buffer_.find(end);
  }
  auto out = buffer_.substr(0, at + end.size());
  buffer_.erase(0, at + end.size());
  return out;
}

std::optional<ClientResponse> BlockingClient::receive(bool head_only) {
  const auto head = read_until("\r\n\r\n");
  if (!head) return std::nullopt;
  auto out = parse_head(*head);
  if (head_only) return out;
  const auto length = static_cast<std::size_t>(std::stoul(out.fields.at("content-length")));
  while (buffer_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  out.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return out;
}

bool BlockingClient::read_to_end() {
  char chunk[4096];
  for (;;) {
    const auto count = ::recv(socket_, chunk, sizeof chunk, 0);
    if (count == 0) return true;
    if (count < 0) return errno == ECONNRESET;
  }
}

void BlockingClient::half_close() { ::shutdown(socket_, SHUT_WR); }

std::optional<ClientResponse> BlockingClient::get(const std::string& target, const std::string& fields) {
  if (!send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n")) return std::nullopt;
  return receive();
}

}  // namespace gapwatch::exporters
