// A plain blocking HTTP client on a real socket: sends bytes as they are given, reads one response at a
// time. A read waits at most 20 s, so that a server that says nothing fails the test instead of hanging it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gapwatch::exporters {

struct ClientResponse {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string head, body;
};

class BlockingClient {
 public:
  explicit BlockingClient(std::uint16_t port);
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  // False once the peer has closed.
  bool send(const std::string& bytes);
  // The next response; nothing when the connection ends before it is whole.
  std::optional<ClientResponse> receive(bool head_only = false);
  // Everything up to and with `end`; nothing when the connection ends before.
  std::optional<std::string> read_until(const std::string& end);
  // Reads until the peer closes; true if it did.
  bool read_to_end();
  void half_close();

  std::optional<ClientResponse> get(const std::string& target, const std::string& fields = "");

 private:
  bool fill();
  int socket_ = -1;
  std::string buffer_;
};

}  // namespace gapwatch::exporters
