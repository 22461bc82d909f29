#include "exporters/http_guard.h"

#include <charconv>

namespace gapwatch::exporters {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What is before the first `mark` and what is behind it; all and nothing without one.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char mark) {
  const auto at = std::find(text.begin(), text.end(), mark);
  return {std::string_view(text.begin(), at), std::string_view(at == text.end() ? at : at + 1, text.end())};
}

// Host and port as written in a header, for comparing origins.
std::string authority_of(std::string_view header) {
  const auto scheme = header.find("://");
  if (scheme != std::string_view::npos) header.remove_prefix(scheme + 3);
  return lower(trimmed(header));
}

// The token of "Bearer TOKEN"; the scheme's case does not matter (RFC 9110).
std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) return std::nullopt;
  return trimmed(authorization.substr(kScheme.size()));
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '%') {
      if (at + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[at + 1]);
      const int low = hex_digit(text[at + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      at += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  return out;
}

std::optional<Target> parse_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    target.remove_prefix(cut(target, '/').first.size());
    break;
  }
  if (!target.starts_with('/')) return std::nullopt;
  const auto [raw_path, raw_query] = cut(cut(target, '#').first, '?');
  const auto path = percent_decoded(raw_path, false);
  if (!path) return std::nullopt;
  Target out{*path, {}};
  for (auto rest = raw_query; !rest.empty();) {
    const auto [pair, others] = cut(rest, '&');
    rest = others;
    if (pair.empty()) continue;
    const auto [raw_name, raw_value] = cut(pair, '=');
    auto name = percent_decoded(raw_name, true);
    auto value = percent_decoded(raw_value, true);
    if (!name || !value) return std::nullopt;
    out.query[std::move(*name)] = std::move(*value);
  }
  return out;
}

std::optional<Listen> parse_listen(std::string_view listen) {
  const auto colon = listen.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  auto host = listen.substr(0, colon);
  const auto digits = listen.substr(colon + 1);
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) return std::nullopt;
  unsigned port = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || port > 65535) {
    return std::nullopt;
  }
  return Listen{std::string(host), port};
}

std::string host_of(std::string_view header) {
  const auto text = authority_of(header);
  const bool bracketed = text.starts_with('[');
  const auto end = text.find_first_of(bracketed ? "]" : ":");
  const auto behind = end == std::string::npos ? std::string() : text.substr(end + 1);
  if (bracketed && !behind.empty() && behind.front() != ':') return "";
  const auto first = bracketed ? std::size_t{1} : std::size_t{0};
  return text.substr(first, end == std::string::npos ? end : end - first);
}

bool names_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  if (!host.starts_with("127.")) return false;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool equal_secrets(std::string_view left, std::string_view right) {
  unsigned difference = left.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const char other = right.empty() ? '\0' : right[i % right.size()];
    difference |= static_cast<unsigned char>(left[i] ^ other);
  }
  return difference == 0;
}

Verdict check_host(const GuardSettings& settings, std::optional<std::string_view> host) {
  if (!host) return {400, "the request has no Host header"};
  if (!settings.loopback) return {};
  const auto name = host_of(*host);
  if (names_loopback(name) || name == lower(settings.listen_host)) return {};
  return {421, "this server answers on loopback only under localhost, 127.0.0.1 or [::1]; the Host header names another"};
}

Verdict check_write(const GuardSettings& settings, std::string_view host, std::string_view origin,
                    std::string_view authorization) {
  if (!origin.empty() && authority_of(origin) != authority_of(host)) {
    return {403, "a page of another origin may not do this"};
  }
  if (settings.token.empty()) {
    if (settings.loopback) return {};
    return {403, "off loopback this needs a bearer token, and none is configured: set http.token"};
  }
  const auto token = bearer_token(authorization);
  if (token && equal_secrets(*token, settings.token)) return {};
  return {401, "this needs the configured token: Authorization: Bearer TOKEN"};
}

}  // namespace gapwatch::exporters
