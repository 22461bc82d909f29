// Result<T>: a value, or an error that says what the caller should do about it.
//
// Errors are values; nothing in gapwatch throws across a folder's boundary. A message is one
// line for the operator: what failed, where (file, line, offset, field) and what to do.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gapwatch {

enum class Action {
  kRetry,   // passing trouble: the same call may succeed later
  kSkip,    // this record or item is bad: count it, leave it out, go on
  kStop,    // this partition or component cannot go on; the rest can
  kRefuse,  // the configuration or the environment is wrong: do not start, or stop the process
};

struct Error {
  Action action = Action::kRefuse;
  std::string message;
};

inline Error refuse(std::string message) { return {Action::kRefuse, std::move(message)}; }
inline Error retry(std::string message) { return {Action::kRetry, std::move(message)}; }
inline Error stop(std::string message) { return {Action::kStop, std::move(message)}; }
inline Error skip(std::string message) { return {Action::kSkip, std::move(message)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<1>(data_); }
  T& value() & { return std::get<0>(data_); }
  const T& value() const& { return std::get<0>(data_); }
  T&& value() && { return std::get<0>(std::move(data_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> data_;
};

// Success without a value: `return Status{};`, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(error_);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace gapwatch
