// Errors are values: Result<T> holds a T or an Error; Status is a Result without a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace troupe {

/// What kind of failure it was; callers branch on this, people read the sentence.
enum class Code : uint8_t {
  ok = 0,
  invalid_argument,     ///< the caller's input is wrong; repeating it will not help
  not_found,            ///< a name, file or id that does not exist
  unsupported,          ///< well-formed, but this build cannot do it
  corrupt,              ///< bytes that contradict their own format or checksum
  exhausted,            ///< a named limit was reached; try again later or smaller
  unavailable,          ///< a peer or service is not there now; a retry may help
  cancelled,            ///< the owner asked for it
  timeout,              ///< a deadline passed
  failed_precondition,  ///< right call, wrong state
  internal,             ///< a defect of ours
};

/// The code's name as it stands in logs and JSON, e.g. "invalid_argument".
const char* name(Code code);

/// One failure: a code, a sentence that says what is wrong and where, and a hint that says what
/// would be right (may be empty).
struct Error {
  Code code = Code::internal;
  std::string what;
  std::string hint;

  /// "what (hint)" for people.
  [[nodiscard]] std::string message() const;
};

inline Error error(Code code, std::string what, std::string hint = {}) {
  return Error{code, std::move(what), std::move(hint)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}
  Result(Error e) : data_(std::in_place_index<1>, std::move(e)) {}

  [[nodiscard]] bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(data_); }
  const T& value() const& { return std::get<0>(data_); }
  T&& value() && { return std::get<0>(std::move(data_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::get<0>(std::move(data_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(data_); }
  Error&& error() && { return std::get<1>(std::move(data_)); }

 private:
  std::variant<T, Error> data_;
};

/// A Result without a value. Default-constructed: success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error e) : error_(std::move(e)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace troupe

/// Returns the error of a Result or Status expression from the enclosing function, if it failed.
#define TROUPE_TRY(expression)                                                                     \
  do {                                                                                             \
    if (auto troupe_try_ = (expression); !troupe_try_.ok()) return std::move(troupe_try_).error(); \
  } while (false)

#define TROUPE_CONCAT_INNER(a, b) a##b
#define TROUPE_CONCAT(a, b) TROUPE_CONCAT_INNER(a, b)
#define TROUPE_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return std::move(result).error();        \
  declaration = std::move(result).value()

/// TROUPE_ASSIGN(auto x, f()): x = the value of f(), or return f()'s error.
#define TROUPE_ASSIGN(declaration, expression) \
  TROUPE_ASSIGN_INNER(TROUPE_CONCAT(troupe_assign_, __LINE__), declaration, expression)
