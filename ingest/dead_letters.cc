#include "ingest/dead_letters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <simdjson.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "ingest/kafka_producer.h"

namespace gapwatch::ingest {
namespace {

constexpr std::size_t kLongestDetail = 300;
constexpr std::chrono::milliseconds kPatience{2'000};

using Letter = DeadLetters::Letter;

std::size_t size_of(const Letter& letter) {
  std::size_t size = sizeof letter + letter.key.size() + letter.value.size() + letter.detail.size();
  for (const auto& [name, value] : letter.headers) size += name.size() + value.size();
  return size;
}

void quote(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// A text, or where it is none its bytes in base64 under another name.
void bytes_member(std::string& out, std::string_view name, std::string_view bytes) {
  if (simdjson::validate_utf8(bytes.data(), bytes.size())) {
    out += fmt::format(",\"{}\":", name);
    return quote(out, bytes);
  }
  std::string packed(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(packed.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  packed.resize(static_cast<std::size_t>(size));
  out += fmt::format(",\"{}_base64\":\"{}\"", name, packed);
}

std::string line_of(const Letter& letter) {
  std::string out = "{\"topic\":";
  quote(out, letter.from.topic);
  out += fmt::format(",\"partition\":{},\"offset\":{},\"ts\":{},\"headers\":[", letter.from.partition, letter.offset, letter.time);
  const char* comma = "";
  for (const auto& [name, value] : letter.headers) {
    out += comma;
    quote(out, log::printable(name, 200));
    out += ',';
    quote(out, simdjson::validate_utf8(value.data(), value.size()) ? value : log::printable(value, 4096));
    comma = ",";
  }
  out += ']';
  letter.has_key ? bytes_member(out, "key", letter.key) : void(out += ",\"key\":null");
  letter.has_value ? bytes_member(out, "payload", letter.value) : void(out += ",\"payload\":null");
  out += ",\"reason\":";
  quote(out, letter.reason);
  out += ",\"detail\":";
  quote(out, letter.detail);
  return out + "}\n";
}

// Appends; what a full disk cut off is taken back before the next attempt.
class LetterFile final : public DeadLetters {
 public:
  explicit LetterFile(std::string path) : path_(std::move(path)) {}
  ~LetterFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Status open() {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    if (descriptor_ < 0) return refuse(trouble());
    end_ = ::lseek(descriptor_, 0, SEEK_END);
    return {};
  }

 private:
  std::string trouble() const { return fmt::format("the dead letters' file {} cannot be written: {}", path_, std::strerror(errno)); }

  Wrote write(std::span<const Letter> letters) override {
    std::string text;
    for (const auto& letter : letters) text += line_of(letter);
    for (std::size_t done = 0; done < text.size();) {
      const auto size = ::pwrite(descriptor_, text.data() + done, text.size() - done, end_ + static_cast<off_t>(done));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return undo();
      done += static_cast<std::size_t>(size);
    }
    if (::fdatasync(descriptor_) != 0) return undo();
    end_ += static_cast<off_t>(text.size());
    return {letters.size(), {}};
  }

  Wrote undo() {
    const auto message = trouble();
    if (::ftruncate(descriptor_, end_) != 0) log::debug("the dead letters' file could not be cut back");
    return {0, retry(message)};
  }

  std::string path_;
  int descriptor_ = -1;
  off_t end_ = 0;
};

// All at once; after a failed delivery one at a time, to know which one it was, until one arrives.
class LetterTopic final : public DeadLetters {
 public:
  LetterTopic(std::unique_ptr<Producer> producer, std::string topic) : producer_(std::move(producer)), topic_(std::move(topic)) {}

 private:
  Wrote write(std::span<const Letter> letters) override {
    std::size_t done = 0;
    while (done < letters.size()) {
      if (under_way_ == 0) {
        if (auto status = send(letters.subspan(done, careful_ ? 1 : letters.size() - done)); !status) return {done, status};
      }
      const auto status = producer_->flush(kPatience);
      if (!status && status.error().action == Action::kRetry) return {done, at_topic(status.error())};
      const auto sent = std::exchange(under_way_, 0);
      careful_ = !status;
      if (!status) return {done, at_topic(status.error())};
      done += sent;
    }
    return {done, {}};
  }

  // What was sent stays under way until a flush says how it went.
  Status send(std::span<const Letter> letters) {
    for (const auto& letter : letters) {
      auto status = produce(letter);
      if (!status && under_way_ == 0) return at_topic(status.error());
      if (!status) return {};
      ++under_way_;
    }
    return {};
  }

  Error at_topic(const Error& error) const {
    return retry(fmt::format("the dead letters' topic {} cannot be written: {}", topic_, error.message));
  }

  Status produce(const Letter& letter) {
    const auto partition = std::to_string(letter.from.partition), offset = std::to_string(letter.offset);
    std::vector<OutgoingHeader> headers;
    for (const auto& [name, value] : letter.headers) headers.push_back({name, value});
    headers.push_back({"gapwatch-reason", letter.reason});
    headers.push_back({"gapwatch-detail", letter.detail});
    headers.push_back({"gapwatch-topic", letter.from.topic});
    headers.push_back({"gapwatch-partition", partition});
    headers.push_back({"gapwatch-offset", offset});
    OutgoingMessage message{};
    message.topic = topic_;
    if (letter.has_key) message.key = letter.key;
    if (letter.has_value) message.value = letter.value;
    if (letter.time > 0) message.time = letter.time;
    message.headers = headers;
    return producer_->produce(message);
  }

  std::unique_ptr<Producer> producer_;
  std::string topic_;
  bool careful_ = false;
  std::size_t under_way_ = 0;
};

}  // namespace

void DeadLetters::put(const PartitionName& from, const Record& record, std::string_view reason, std::string_view detail) {
  Letter letter{from, record.offset, record.time, std::string(record.key), {}, std::string(reason),
                log::printable(detail, kLongestDetail), record.key.data() != nullptr, !record.document, {}};
  if (!record.document) letter.value = record.value;
  for (const auto& header : record.headers()) letter.headers.emplace_back(header.name, header.value);
  pending_bytes_ += size_of(letter);
  pending_.push_back(std::move(letter));
}

Status DeadLetters::flush() {
  if (pending_.empty()) return {};
  const auto wrote = write(pending_);
  for (std::size_t i = 0; i < wrote.count; ++i) pending_bytes_ -= size_of(pending_[i]);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(wrote.count));
  written_ += wrote.count;
  return wrote.status;
}

Result<std::unique_ptr<DeadLetters>> make_dead_letters(const config::Settings& settings) {
  const auto& chosen = settings.dead_letters;
  if (!chosen.topic.empty()) {
    if (!settings.source.kafka) return refuse("dead_letters.topic needs a source.kafka; use dead_letters.file");
    auto properties = settings.source.kafka->properties;
    properties["message.timeout.ms"] = "0";  // what is not delivered is tried for as long as it takes
    properties.try_emplace("message.max.bytes", "100000000");
    auto producer = make_kafka_producer(settings.source.kafka->brokers, properties);
    if (!producer) return producer.error();
    return std::unique_ptr<DeadLetters>(std::make_unique<LetterTopic>(std::move(*producer), chosen.topic));
  }
  if (chosen.file.empty()) return std::unique_ptr<DeadLetters>();
  auto file = std::make_unique<LetterFile>(chosen.file);
  if (auto status = file->open(); !status) return status.error();
  return std::unique_ptr<DeadLetters>(std::move(file));
}

}  // namespace gapwatch::ingest
