// Evidence as bytes (state/FORMAT.md): every struct of stats/evidence.h by its list of fields.
//
// A prompt inside a partition's open block or pool is written by name. Reading gives the same bits back.
//
// Threads: pure.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <string_view>
#include <vector>

#include "state/bytes.h"
#include "stats/evidence.h"

namespace gapwatch::state {

template <typename T>
concept HasFields = requires(T& value) { T::fields(value, [](auto&) {}); };

// `name_of(PromptKey)` gives a prompt's name.
template <typename NameOf>
class EvidenceWriter {
 public:
  EvidenceWriter(ByteWriter& out, NameOf name_of) : out_(out), name_of_(std::move(name_of)) {}

  void operator()(const std::unsigned_integral auto& value) { out_.varint(value); }
  void operator()(double value) { out_.real(value); }
  void operator()(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    out_.be32(bits);
  }
  void operator()(const stats::LogWealth& wealth) {
    out_.u64(static_cast<std::uint64_t>(wealth.high()));
    out_.u64(wealth.low());
  }
  void operator()(const stats::PromptKey& prompt) { out_.string(name_of_(prompt)); }
  void operator()(const stats::Batch& batch) {
    (*this)(batch.size);
    for (const auto& cell : batch.view()) (*this)(cell);
  }
  void operator()(const stats::PairPool& pool) {
    (*this)(pool.size), (*this)(pool.won);
    for (std::size_t j = 0; j < pool.size; ++j) (*this)(pool.prompts[j]);
  }
  template <typename T, std::size_t N>
  void operator()(const std::array<T, N>& values) {
    for (const auto& value : values) (*this)(value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    out_.varint(values.size());
    for (const auto& value : values) (*this)(value);
  }
  // Few pairs of policies have anything waiting: each nonempty pool behind the number of empty ones before it.
  void operator()(const std::vector<stats::PairPool>& pools) {
    out_.varint(pools.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < pools.size(); ++i) {
      if (pools[i].size == 0) continue;
      out_.varint(i - next);
      (*this)(pools[i]);
      next = i + 1;
    }
    out_.varint(pools.size() - next);
  }
  template <HasFields T>
  void operator()(const T& value) {
    T::fields(value, [this](const auto& field) { (*this)(field); });
  }

 private:
  ByteWriter& out_;
  NameOf name_of_;
};

// `key_of(name)` gives a prompt by name; nothing where there is no such prompt. ok() is to be asked at the end.
template <typename KeyOf>
class EvidenceReader {
 public:
  EvidenceReader(ByteReader& in, KeyOf key_of) : in_(in), key_of_(std::move(key_of)) {}

  bool ok() const { return ok_ && in_.ok(); }

  template <std::unsigned_integral T>
  void operator()(T& value) {
    const auto read = in_.varint();
    value = static_cast<T>(read);
    ok_ &= read == static_cast<std::uint64_t>(value);
  }
  void operator()(double& value) { value = in_.real(); }
  void operator()(float& value) {
    const std::uint32_t bits = in_.be32();
    std::memcpy(&value, &bits, sizeof value);
  }
  void operator()(stats::LogWealth& wealth) {
    const auto high = in_.u64(), low = in_.u64();
    wealth = stats::LogWealth::of(static_cast<std::int64_t>(high), low);
  }
  void operator()(stats::PromptKey& prompt) {
    const auto key = key_of_(in_.string());
    ok_ &= key.has_value();
    if (key) prompt = *key;
  }
  void operator()(stats::Batch& batch) {
    (*this)(batch.size);
    if (batch.size > stats::kBatchSize) ok_ = false;
    if (!ok_) batch.size = 0;
    std::uint32_t trials = 0, successes = 0;
    for (std::size_t j = 0; j < batch.size; ++j) {
      (*this)(batch.cells[j]);
      ok_ &= batch.cells[j].successes <= batch.cells[j].trials;
      trials += batch.cells[j].trials, successes += batch.cells[j].successes;
    }
    ok_ &= trials <= stats::kBatchSize;
    batch.trials = static_cast<std::uint8_t>(trials), batch.successes = static_cast<std::uint8_t>(successes);
  }
  void operator()(stats::PairPool& pool) {
    (*this)(pool.size), (*this)(pool.won);
    if (pool.size >= stats::kPoolSize) ok_ = false;
    if (!ok_) pool.size = 0;
    for (std::size_t j = 0; j < pool.size; ++j) (*this)(pool.prompts[j]);
  }
  template <typename T, std::size_t N>
  void operator()(std::array<T, N>& values) {
    for (auto& value : values) (*this)(value);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    const auto count = in_.varint();
    ok_ &= count <= in_.left();
    values.clear();
    for (std::uint64_t i = 0; ok() && i < count; ++i) (*this)(values.emplace_back());
    if constexpr (std::same_as<T, stats::PolicyEvidence>) most_pools_ = count * (count - (count > 0 ? 1 : 0)) / 2;
  }
  void operator()(std::vector<stats::PairPool>& pools) {
    const auto count = in_.varint();
    ok_ &= count <= most_pools_;
    pools.clear();
    if (ok()) pools.resize(count);
    for (std::uint64_t next = 0;;) {
      next += in_.varint();
      if (!ok() || next >= count) {
        ok_ &= next == count;
        return;
      }
      (*this)(pools[next++]);
    }
  }
  template <HasFields T>
  void operator()(T& value) {
    T::fields(value, [this](auto& field) { (*this)(field); });
  }

 private:
  ByteReader& in_;
  KeyOf key_of_;
  std::uint64_t most_pools_ = 0;  // one a pair of the policies read before
  bool ok_ = true;
};

}  // namespace gapwatch::state
