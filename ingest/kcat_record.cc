#include "ingest/kcat_record.h"

#include <openssl/evp.h>

namespace gapwatch::ingest {
namespace {

// The bytes that a text in base64 stands for; none where it is not base64.
std::string unpacked(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const auto padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(size < padding ? 0 : static_cast<std::size_t>(size - padding));
  return bytes;
}

}  // namespace


void KcatEnvelope::read_headers(JsonTree::Id list) {
  std::string_view name;
  bool named = false;
  for (auto at = tree_.at(list).first; at != JsonTree::kNone; at = tree_.at(at).next) {
    const auto& raw = tree_.at(at).raw;
    const std::string_view text = raw.kind == Kind::kString ? raw.text : std::string_view();
    if (named) headers_.push_back({name, text});
    name = text;
    named = !named;
  }
}

void KcatEnvelope::open(Record& record) {
  headers_.clear();
  if (record.truncated || tree_.parse(record.value)) return;
  bool topic = false, payload = false;
  for (auto at = tree_.at(JsonTree::kRoot).first; at != JsonTree::kNone; at = tree_.at(at).next) {
    const auto& [raw, key, first, next] = tree_.at(at);
    topic |= key == "topic" && raw.kind == Kind::kString;
    payload |= key == "payload" && (raw.kind == Kind::kString || raw.kind == Kind::kNull);
    payload |= key == "payload_base64" && raw.kind == Kind::kString;
  }
  if (topic && payload) read_members(record);
}

void KcatEnvelope::read_members(Record& record) {
  context_ = {{}, record.file(), {}, this};
  record.context = &context_;
  for (auto at = tree_.at(JsonTree::kRoot).first; at != JsonTree::kNone; at = tree_.at(at).next) {
    const auto& [raw, key, first, next] = tree_.at(at);
    const bool text = raw.kind == Kind::kString;
    if (key == "topic") context_.topic = raw.text;
    if (key == "ts" && raw.kind == Kind::kInteger) record.time = static_cast<TimeMs>(raw.value);
    if (key == "headers" && raw.kind == Kind::kArray) read_headers(at);
    if (key == "key" && text) record.key = raw.text;
    if (key == "key_base64" && text) record.key = key_ = unpacked(raw.text);
    if (key == "payload") {
      record.tombstone = !text;
      record.value = text ? raw.text : std::string_view();
    }
    if (key == "payload_base64" && text) record.value = payload_ = unpacked(raw.text);
  }
}

}  // namespace gapwatch::ingest
