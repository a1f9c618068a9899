// Flags with a value: each says its range and an example, in --help and when the value is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace troupe::cli {

/// A mistake at the command line, in our words; thrown while the words are parsed.
class FlagError : public CLI::ParseError {
 public:
  explicit FlagError(troupe::Error error)
      : CLI::ParseError("FlagError", error.message(), CLI::ExitCodes::ValidationError),
        error_(std::move(error)) {}
  [[nodiscard]] const troupe::Error& error() const { return error_; }

 private:
  troupe::Error error_;
};

struct WholeRange {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
};
/// A whole number; `out` keeps its default when the flag is absent.
template <class T>
void add_whole(CLI::App& command, const std::string& name, T& out, WholeRange range,
               const std::string& example, const std::string& meaning);

struct RealRange {
  float min = 0;
  float max = 1;
  bool above_min = false;  ///< the minimum itself is not in the range
};
/// A number with a fraction; neither infinite nor NaN.
void add_real(CLI::App& command, const std::string& name, float& out, RealRange range,
              const std::string& example, const std::string& meaning);

/// An amount with its unit, e.g. 512MiB.
void add_bytes(CLI::App& command, const std::string& name, uint64_t& out, uint64_t min,
               const std::string& meaning);

/// One of some words.
void add_word(CLI::App& command, const std::string& name, std::string& out,
              const std::vector<std::string>& words, const std::string& meaning);

/// A text that must not be empty.
void add_text(CLI::App& command, const std::string& name, std::string& out,
              const std::string& meaning);

/// Whether the user wrote the flag; false if the command has none of that name.
bool is_given(const CLI::App& command, const char* flag);

/// Refuses flags of this command that would do nothing, or contradict another: says which and what
/// would be right.
Status check_together(const CLI::App& command);

/// The flag with its value as a user wrote it: `--n is "-1"`.
std::string flag_is(const std::string& name, const std::string& value);

namespace detail {
/// `kind` stands for the value in --help.
void add_parsed(CLI::App& command, const std::string& name, const char* kind,
                const std::string& meaning, std::function<Status(const std::string& value)> parse);
Result<uint64_t> parse_whole(const std::string& name, const std::string& value, WholeRange range,
                             const std::string& example);
}  // namespace detail

template <class T>
void add_whole(CLI::App& command, const std::string& name, T& out, WholeRange range,
               const std::string& example, const std::string& meaning) {
  detail::add_parsed(
      command, name, "NUMBER", meaning, [=, &out](const std::string& value) -> Status {
        TROUPE_ASSIGN(const uint64_t number, detail::parse_whole(name, value, range, example));
        out = static_cast<T>(number);
        return {};
      });
}

}  // namespace troupe::cli
