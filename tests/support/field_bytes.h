// Any struct that lists its fields, as bytes and back: what a store does, in its simplest form.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "stats/evidence.h"

namespace gapwatch::testing {

class FieldWriter {
 public:
  std::string bytes;

  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_same_v<T, stats::LogWealth>) {
      (*this)(value.high()), (*this)(value.low());
    } else if constexpr (std::is_same_v<T, stats::PromptKey>) {
      (*this)(value.value);
    } else {
      T::fields(value, *this);
    }
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(std::uint64_t{list.size()});
    for (const auto& one : list) (*this)(one);
  }
  template <typename T, std::size_t N>
  void operator()(const std::array<T, N>& list) {
    for (const auto& one : list) (*this)(one);
  }
};

class FieldReader {
 public:
  explicit FieldReader(const std::string& bytes) : left_(bytes) {}
  bool done() const { return left_.empty(); }

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, left_.data(), sizeof value);
      left_.remove_prefix(sizeof value);
    } else if constexpr (std::is_same_v<T, stats::LogWealth>) {
      std::int64_t high;
      std::uint64_t low;
      (*this)(high), (*this)(low);
      value = stats::LogWealth::of(high, low);
    } else if constexpr (std::is_same_v<T, stats::PromptKey>) {
      (*this)(value.value);
    } else {
      T::fields(value, *this);
    }
  }
  template <typename T>
  void operator()(std::vector<T>& list) {
    std::uint64_t size;
    (*this)(size);
    list.clear();
    list.resize(size);
    for (auto& one : list) (*this)(one);
  }
  template <typename T, std::size_t N>
  void operator()(std::array<T, N>& list) {
    for (auto& one : list) (*this)(one);
  }

 private:
  std::string_view left_;
};

template <typename T>
std::string to_bytes(const T& value) {
  FieldWriter writer;
  writer(value);
  return writer.bytes;
}

template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  FieldReader reader(bytes);
  reader(value);
  EXPECT_TRUE(reader.done());
  return value;
}

}  // namespace gapwatch::testing
