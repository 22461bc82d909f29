#include "ingest/unpack.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace gapwatch::ingest {
namespace {

class Plain final : public Unpacker {
 public:
  Result<Step> unpack(std::span<const char> in, std::span<char> out) override {
    const std::size_t size = std::min(in.size(), out.size());
    if (size > 0) std::memcpy(out.data(), in.data(), size);
    return Step{size, size};
  }
  bool unfinished() const override { return false; }
};

class Gzip final : public Unpacker {
 public:
  Gzip() { good_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  bool good() const { return good_; }

  Result<Step> unpack(std::span<const char> in, std::span<char> out) override {
    if (at_end_ && !in.empty()) {  // another member follows
      inflateReset(&stream_);
      at_end_ = false;
    }
    if (in.empty() && at_end_) return Step{};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      at_end_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return refuse(fmt::format("the gzip data is damaged ({})", stream_.msg == nullptr ? zError(code) : stream_.msg));
    }
    return Step{in.size() - stream_.avail_in, out.size() - stream_.avail_out};
  }
  bool unfinished() const override { return !at_end_; }

 private:
  z_stream stream_{};
  bool good_ = false, at_end_ = false;
};

class Zstd final : public Unpacker {
 public:
  Zstd() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {}

  bool good() const { return stream_ != nullptr; }

  Result<Step> unpack(std::span<const char> in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &to, &from);
    if (ZSTD_isError(left) != 0) {
      return refuse(fmt::format("the zstd data is damaged ({})", ZSTD_getErrorName(left)));
    }
    // Zero: a frame has ended and all of it is written. Called without input then, it would ask
    // for the next frame's header, which may never come.
    if (from.pos > 0 || to.pos > 0) unfinished_ = left != 0;
    return Step{from.pos, to.pos};
  }
  bool unfinished() const override { return unfinished_; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool unfinished_ = false;
};

template <typename Format>
Result<std::unique_ptr<Unpacker>> made() {
  auto format = std::make_unique<Format>();
  if (!format->good()) return refuse("there is no memory to unpack it");
  return std::unique_ptr<Unpacker>(std::move(format));
}

}  // namespace

Result<std::unique_ptr<Unpacker>> make_unpacker(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return made<Gzip>();
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return made<Zstd>();
  return std::unique_ptr<Unpacker>(std::make_unique<Plain>());
}

}  // namespace gapwatch::ingest
