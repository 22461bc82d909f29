#include "state/keys.h"

#include <limits>

#include "base/time_text.h"
#include "state/bytes.h"

namespace gapwatch::state {
namespace {

constexpr std::uint8_t kValueVersion = 1, kMarkedVersion = 2;

Error damaged(const char* what) {
  return refuse(std::string(what) + " is damaged");
}

// A value that is one number.
}  // namespace

std::string partition_place(std::string_view topic, std::int32_t partition) {
  ByteWriter out;
  out.string(topic);
  out.be32(static_cast<std::uint32_t>(partition));
  return out.take();
}

std::string key_prefix(KeyKind kind, std::string_view place) {
  std::string key(1, static_cast<char>(kind));
  return key.append(place);
}

std::string offset_key(std::string_view place) {
  return key_prefix(KeyKind::kOffset, place);
}

std::string name_key(std::string_view place, std::uint32_t id) {
  ByteWriter out;
  out.rest(key_prefix(KeyKind::kName, place));
  out.be32(id);
  return out.take();
}

std::string row_key(std::string_view place, std::string_view eval, std::string_view scorer,
                    std::string_view prompt) {
  ByteWriter out;
  out.rest(key_prefix(KeyKind::kRow, place));
  out.string(eval);
  out.string(scorer);
  out.rest(prompt);
  return out.take();
}

std::string route_key(std::string_view place, std::string_view router, std::string_view eval,
                      std::string_view prompt) {
  ByteWriter out;
  out.rest(key_prefix(KeyKind::kRoute, place));
  out.string(router);
  out.string(eval);
  out.rest(prompt);
  return out.take();
}

std::string partition_evidence_key(std::string_view place, std::string_view monitor) {
  return key_prefix(KeyKind::kPartitionEvidence, place).append(monitor);
}

std::string prompt_evidence_key(std::string_view place, std::string_view monitor, std::string_view prompt) {
  ByteWriter out;
  out.rest(key_prefix(KeyKind::kPromptEvidence, place));
  out.string(monitor);
  out.rest(prompt);
  return out.take();
}

std::string monitor_key(std::string_view monitor) {
  return key_prefix(KeyKind::kMonitor, monitor);
}

Result<PartitionPlace> parse_offset_key(std::string_view key) {
  ByteReader in(key);
  if (in.u8() != static_cast<std::uint8_t>(KeyKind::kOffset)) return damaged("an offset's key");
  PartitionPlace place;
  place.topic = std::string(in.string());
  place.partition = static_cast<std::int32_t>(in.be32());
  if (!in.done()) return damaged("an offset's key");
  return place;
}

Result<RowName> parse_row_key(std::string_view rest) {
  ByteReader in(rest);
  RowName name;
  name.eval = std::string(in.string());
  name.scorer = std::string(in.string());
  name.prompt = std::string(in.rest());
  if (!in.ok()) return damaged("a row's key");
  return name;
}

Result<RouteName> parse_route_key(std::string_view rest) {
  ByteReader in(rest);
  RouteName name;
  name.router = std::string(in.string());
  name.eval = std::string(in.string());
  name.prompt = std::string(in.rest());
  if (!in.ok()) return damaged("a routing decision's key");
  return name;
}

Result<PromptEvidenceName> parse_prompt_evidence_key(std::string_view rest) {
  ByteReader in(rest);
  PromptEvidenceName name;
  name.monitor = std::string(in.string());
  name.prompt = std::string(in.rest());
  if (!in.ok()) return damaged("the key of a prompt's evidence");
  return name;
}

std::string encode_decision(const Decision& decision, const Catalog& catalog) {
  ByteWriter out;
  out.u8(kValueVersion);
  out.varint(decision.weights.size());
  for (const auto& [policy, weight] : decision.weights) {
    out.string(catalog.policy_name(policy));
    out.real(weight);
  }
  return out.take();
}

Status decode_decision(std::string_view bytes, Catalog& catalog, Decision& decision) {
  ByteReader in(bytes);
  if (in.u8() != kValueVersion) return damaged("a routing decision");
  const auto count = in.varint();
  if (count > in.left()) return damaged("a routing decision");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto policy = catalog.policy(in.string());
    decision.weights.emplace_back(policy, in.real());
  }
  if (!in.done()) return damaged("a routing decision");
  return {};
}

std::string encode_position(const Position& position) {
  ByteWriter out;
  out.u8(position.last ? kMarkedVersion : kValueVersion);
  out.u64(static_cast<std::uint64_t>(position.next));
  if (position.last) {
    out.u64(position.last->digest);
    out.varint(position.last->unread_bytes);
  }
  return out.take();
}

Result<Position> decode_position(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.u8();
  Position position{static_cast<Offset>(in.u64()), {}};
  if (version == kMarkedVersion) {
    const auto digest = in.u64();
    position.last = RecordMark{digest, in.varint()};
  }
  if ((version != kValueVersion && version != kMarkedVersion) || !in.done() || position.next < 0) return damaged("an offset");
  return position;
}

std::string encode_stream_time(TimeMs time) {
  ByteWriter out;
  out.u8(kValueVersion);
  out.u64(static_cast<std::uint64_t>(time));
  return out.take();
}

Result<TimeMs> decode_stream_time(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.u8();
  const auto time = static_cast<TimeMs>(in.u64());
  if (version != kValueVersion || !in.done() || time < -kLastTime || time > kLastTime) return damaged("the stream's time");
  return time;
}

}  // namespace gapwatch::state
