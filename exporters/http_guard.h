// What a request must satisfy before any handler sees it: a well-formed target, a host that is ours,
// and the token where it writes. Pure functions; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gapwatch::exporters {

// The text of a percent-encoded part of a target; nothing where an escape is broken or a byte is zero.
// `plus_is_space` for a query.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

struct Target {
  std::string path;  // decoded, begins with "/"
  std::map<std::string, std::string> query;  // decoded; a repeated name keeps its last value
};
// From "/path?query" or the absolute form; nothing where it is neither or an escape is broken.
std::optional<Target> parse_target(std::string_view target);

// "host:port" or "[v6]:port", split; nothing when there is no port or it is not a number up to 65535.
struct Listen {
  std::string host;
  unsigned port = 0;
};
std::optional<Listen> parse_listen(std::string_view listen);

// The host of a Host or Origin header without port and brackets, in lower case; empty where the
// brackets are followed by anything but a port.
std::string host_of(std::string_view header);
// localhost, 127.0.0.0/8, ::1.
bool names_loopback(std::string_view host);

// Time does not depend on where the two differ.
bool equal_secrets(std::string_view left, std::string_view right);

// What to refuse a request with; status 0 lets it pass.
struct Verdict {
  int status = 0;
  std::string reason;
};

struct GuardSettings {
  std::string listen_host;  // as configured
  bool loopback = true;     // the address really bound
  std::string token;
};

// A web page that a browser loaded from elsewhere can reach a loopback port by a name it resolves to
// 127.0.0.1 ("DNS rebinding"), so on loopback the Host header must be a loopback name or the
// configured host. 421 otherwise; 400 without one.
Verdict check_host(const GuardSettings& settings, std::optional<std::string_view> host);

// For a request that writes: from the same origin, and with the bearer token where one is
// configured; off loopback a token must be configured. 401 or 403 otherwise.
Verdict check_write(const GuardSettings& settings, std::string_view host, std::string_view origin,
                    std::string_view authorization);

}  // namespace gapwatch::exporters
