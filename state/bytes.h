// The primitives of the stored formats: varints, little-endian words, length-prefixed strings.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gapwatch::state {

class ByteWriter {
 public:
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<std::uint8_t>(value | 0x80));
    u8(static_cast<std::uint8_t>(value));
  }
  void u64(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void be32(std::uint32_t value) {
    for (int i = 3; i >= 0; --i) u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void real(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    u64(bits);
  }
  void string(std::string_view value) {
    varint(value.size());
    out_.append(value);
  }
  void rest(std::string_view value) { out_.append(value); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads past the end give zeros and make ok() false, to be asked once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }
  std::size_t left() const { return left_.size(); }

  std::uint8_t u8() {
    if (left_.empty()) return fail();
    const auto value = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = u8();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return fail();
  }
  std::uint32_t varint32() {
    const auto value = varint();
    return value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : fail();
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{u8()} << (8 * i);
    return value;
  }
  std::uint32_t be32() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = (value << 8) | u8();
    return value;
  }
  double real() {
    const auto bits = u64();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::string_view string() {
    const auto size = varint();
    if (size > left_.size()) {
      fail();
      return {};
    }
    const auto value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  std::string_view rest() {
    const auto value = left_;
    left_ = {};
    return value;
  }

 private:
  std::uint8_t fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace gapwatch::state
