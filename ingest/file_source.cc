#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "ingest/kcat_record.h"
#include "ingest/line_cutter.h"
#include "ingest/source.h"
#include "ingest/unpack.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kMagicBytes = 4;  // enough to know the format by

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::span<const char> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> copy(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    EVP_MD_CTX_copy_ex(copy.get(), context_.get());
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(copy.get(), digest, &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// One file's bytes, unpacked, with its place for messages.
class InputFile {
 public:
  enum class State { kMore, kWaiting, kEnd };

  explicit InputFile(std::string name) : name_(std::move(name)) {}
  ~InputFile() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  Status open() {
    if (name_ == "-") {
      descriptor_ = STDIN_FILENO;
      return {};
    }
    descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) return refuse(fmt::format("{} cannot be opened: {}", name_, std::strerror(errno)));
    struct stat info {};
    if (::fstat(descriptor_, &info) == 0 && S_ISDIR(info.st_mode)) {
      return refuse(fmt::format("{} is a folder; name the files in it", name_));
    }
    return {};
  }

  // Appends unpacked bytes to `out`, some hundred kilobytes at most. Waits for input up to `wait`.
  Result<State> read(milliseconds wait, std::string& out, Sha256& digest) {
    const bool hungry = pending_ == in_.size() || (!unpacker_ && in_.size() < kMagicBytes);
    if (hungry && !at_end_) {
      auto state = read_raw(wait, digest);
      if (!state || *state == State::kWaiting) return state;
    }
    if (!unpacker_) {
      if (in_.size() < kMagicBytes && !at_end_) return State::kMore;
      auto made = make_unpacker(std::string_view(in_.data(), in_.size()));
      if (!made) return broken(made.error().message);
      unpacker_ = *std::move(made);
    }
    const std::size_t before = out.size();
    out.resize(before + kReadBytes);
    auto step = unpacker_->unpack(std::span(in_).subspan(pending_), std::span(out).subspan(before));
    out.resize(before + (step ? step->written : 0));
    if (!step) return broken(step.error().message);
    pending_ += step->read;
    if (!at_end_ || step->read > 0 || step->written > 0) return State::kMore;
    if (pending_ < in_.size() || unpacker_->unfinished()) return broken("it ends in the middle of the packed data");
    return State::kEnd;
  }

 private:
  // Reads behind what is not unpacked yet, which is nothing or a beginning of under four bytes.
  Result<State> read_raw(milliseconds wait, Sha256& digest) {
    pollfd waited{descriptor_, POLLIN, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1 << 30)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) return State::kWaiting;
    if (unpacker_) {
      in_.clear();
      pending_ = 0;
    }
    const std::size_t kept = in_.size();
    in_.resize(kept + kReadBytes);
    const auto size = ::read(descriptor_, in_.data() + kept, kReadBytes);
    in_.resize(kept + (size > 0 ? static_cast<std::size_t>(size) : 0));
    if (size < 0) {
      if (errno == EINTR || errno == EAGAIN) return State::kWaiting;
      return broken(std::strerror(errno));
    }
    at_end_ = size == 0;
    digest.add(std::span(in_).subspan(kept));
    raw_bytes_ += static_cast<std::uint64_t>(size);
    return State::kMore;
  }

  Error broken(std::string_view why) const {
    return refuse(fmt::format("{}, near byte {}: {}", name_, raw_bytes_ - (in_.size() - pending_), why));
  }

  std::string name_;
  int descriptor_ = -1;
  bool at_end_ = false;
  std::vector<char> in_;
  std::size_t pending_ = 0;  // in_ from here on is not unpacked yet
  std::uint64_t raw_bytes_ = 0;
  std::unique_ptr<Unpacker> unpacker_;
};

std::string without_packing(std::string name) {
  for (const char* ending : {".gz", ".zst"}) {
    if (name.size() > std::strlen(ending) && name.ends_with(ending)) name.erase(name.size() - std::strlen(ending));
  }
  return name;
}

// "runs/math500.jsonl.gz" -> "math500"; standard input is "stdin".
std::string stem(const std::string& file) {
  if (file == "-") return "stdin";
  auto name = without_packing(file.substr(file.rfind('/') + 1));
  for (const char* ending : {".jsonl", ".ndjson", ".json", ".csv", ".hex", ".kcat"}) {
    if (name.size() > std::strlen(ending) && name.ends_with(ending)) name.erase(name.size() - std::strlen(ending));
  }
  return name;
}

class FileSource final : public Source {
 public:
  FileSource(const std::vector<std::string>& files, std::size_t max_line_bytes, FileShape shape)
      : names_(files), max_line_bytes_(max_line_bytes), shape_(shape) {}

  Result<bool> poll(milliseconds wait, SourceHandler& handler) override {
    if (failure_) return *failure_;
    if (paused_) {
      ::poll(nullptr, 0, static_cast<int>(wait.count()));
      return true;
    }
    if (!file_) {
      if (opened_ == names_.size()) return false;
      if (auto status = open_next(handler); !status) return fail(status.error());
    }
    if (lines_->empty() || !cut(handler)) return read(wait, handler);
    return true;
  }

  void committed(PartitionIndex, Offset) override {}
  void pause() override { paused_ = true; }
  void resume() override { paused_ = false; }

  std::vector<PartitionProgress> progress() const override {
    std::vector<PartitionProgress> all;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      all.push_back({{names_[i], 0}, next_[i], i < finished_ ? std::optional(next_[i]) : std::nullopt});
    }
    return all;
  }

  std::optional<std::string> input_sha256() const override { return digest_.hex(); }
  std::string default_eval(const std::string& topic) const override { return stem(topic); }
  bool shares_prompts() const override { return true; }

  void close(SourceHandler& handler) override {
    for (std::size_t i = 0; i < next_.size() && !closed_; ++i) handler.on_revoked(static_cast<PartitionIndex>(i));
    closed_ = true;
  }

 private:
  Status open_next(SourceHandler& handler) {
    file_.emplace(names_[opened_]);
    if (auto status = file_->open(); !status) return status;
    const auto name = without_packing(names_[opened_]);
    enveloped_ = name.ends_with(".kcat.jsonl");
    hexadecimal_ = name.ends_with(".hex");
    lines_.emplace(max_line_bytes_, enveloped_ || hexadecimal_ ? FileShape::kLines : shape_);
    const auto index = static_cast<PartitionIndex>(opened_);
    auto from = handler.on_assigned(index, {names_[opened_], 0});
    if (!from) return from.error();
    from_ = from->value_or(0);
    again_ = from_ > 0 && handler.wants_last_again(index);
    next_.push_back(from_);
    ++opened_;
    return {};
  }

  // Hands over the lines that are there; false where there is no whole one.
  bool cut(SourceHandler& handler) {
    const Offset before = lines_->next_line();
    records_.clear();
    lines_->cut(at_end_, static_cast<PartitionIndex>(opened_ - 1), from_ - again_, records_);
    next_.back() = std::max(next_.back(), lines_->next_line());
    if (!records_.empty()) hand_over(handler);
    return !records_.empty() || lines_->next_line() > before;
  }

  void hand_over(SourceHandler& handler) {
    context_ = {{}, names_[opened_ - 1], lines_->names(), nullptr};
    for (auto& record : records_) record.context = &context_;
    if (!enveloped_ && !hexadecimal_) return handler.on_records(records_);
    for (auto& record : records_) {  // one by one: what was unpacked lives until the next is
      if (enveloped_) envelope_.open(record);
      if (hexadecimal_) read_hexadecimal(record);
      handler.on_records({&record, 1});
    }
  }

  // A line that is not hexadecimal stays as it is.
  void read_hexadecimal(Record& record) {
    const auto text = record.value;
    bytes_.resize(text.size() / 2);
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const char* const from = text.data() + 2 * i;
      unsigned byte = 0;
      const auto [end, code] = std::from_chars(from, from + 2, byte, 16);
      if (code != std::errc() || end != from + 2) return;
      bytes_[i] = static_cast<char>(byte);
    }
    if (text.size() % 2 == 0) record.value = bytes_;
  }

  Result<bool> read(milliseconds wait, SourceHandler& handler) {
    if (at_end_) return finish_file();
    auto state = file_->read(wait, lines_->room(), digest_);
    if (!state) return fail({state.error().action, fmt::format("{} (line {})", state.error().message, lines_->next_line() + 1)});
    at_end_ = *state == InputFile::State::kEnd;
    if (!lines_->empty()) cut(handler);
    if (at_end_ && lines_->empty()) return finish_file();
    return true;
  }

  Result<bool> finish_file() {
    if (lines_->next_line() < from_) {
      return fail(refuse(fmt::format("{} ends after line {}, and {} lines of it were counted before: it became shorter, or is "
                                     "another file; put the old one back, or start with an empty state folder to count this one",
                                     names_[opened_ - 1], lines_->next_line(), from_)));
    }
    finished_ = opened_;
    file_.reset();
    lines_.reset();
    at_end_ = false;
    return opened_ < names_.size();
  }

  Error fail(Error error) {
    failure_ = error;
    return error;
  }

  std::vector<std::string> names_;
  std::size_t max_line_bytes_;
  FileShape shape_;
  KcatEnvelope envelope_;
  bool enveloped_ = false, hexadecimal_ = false;  // the file that is open
  std::string bytes_;                             // of a hexadecimal line
  std::size_t opened_ = 0, finished_ = 0;
  std::optional<InputFile> file_;
  std::optional<LineCutter> lines_;
  std::vector<Offset> next_;  // of each file opened
  Offset from_ = 0;
  bool again_ = false;  // from the record before on
  bool at_end_ = false, paused_ = false, closed_ = false;
  std::optional<Error> failure_;
  std::vector<Record> records_;
  RecordContext context_;
  Sha256 digest_;
};

}  // namespace

Result<std::unique_ptr<Source>> make_file_source(const std::vector<std::string>& files, std::size_t max_line_bytes,
                                                 FileShape shape) {
  if (files.empty()) return refuse("there is no input: name at least one file, or - for standard input");
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code unknown;
      if (files[i] != files[j] && !std::filesystem::equivalent(files[i], files[j], unknown)) continue;
      return refuse(fmt::format("{} is given twice (as {}); name each file once", files[i], files[j]));
    }
  }
  return std::unique_ptr<Source>(std::make_unique<FileSource>(files, max_line_bytes, shape));
}

}  // namespace gapwatch::ingest
