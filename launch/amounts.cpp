#include "launch/amounts.hpp"

#include <array>
#include <span>
#include <vector>

#include "launch/limits.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

struct Unit {
  const char* name;
  uint64_t factor;
};

// Largest first within a family, so that formatting finds the shortest.
constexpr std::array<Unit, 9> byte_units = {{{"TiB", 1ull << 40},
                                             {"GiB", 1ull << 30},
                                             {"MiB", 1ull << 20},
                                             {"KiB", 1ull << 10},
                                             {"B", 1},
                                             {"TB", 1'000'000'000'000},
                                             {"GB", 1'000'000'000},
                                             {"MB", 1'000'000},
                                             {"KB", 1'000}}};
constexpr std::array<Unit, 5> time_units = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

struct Kind {
  std::span<const Unit> units;
  const char* expected;
  const char* usual;  ///< the unit to suggest when there is none
  const char* smallest;
};

const Kind bytes_kind{byte_units, "an amount with its unit, such as 512MiB or 2GiB", "MiB",
                      "bytes"};
const Kind time_kind{time_units, "a duration with its unit, such as 250ms, 30s or 10m", "s",
                     "milliseconds"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Error wrong(const Kind& kind, std::string_view text, const std::string& suggestion) {
  return error(Code::invalid_argument,
               in_quotes(text) + " is not an amount, expected " + kind.expected + suggestion);
}

// number * factor as a whole number, or nothing if it has a remainder or does not fit.
bool scale(std::string_view whole, std::string_view fraction, uint64_t factor, uint64_t& out) {
  if (whole.size() > 19 || fraction.size() > 9) return false;
  unsigned __int128 value = 0;
  unsigned __int128 divisor = 1;
  for (const char c : whole) value = value * 10 + static_cast<unsigned>(c - '0');
  for (const char c : fraction) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    divisor *= 10;
  }
  value *= factor;
  if (value % divisor != 0 || value / divisor > UINT64_MAX) return false;
  out = static_cast<uint64_t>(value / divisor);
  return true;
}

Result<uint64_t> parse(const Kind& kind, std::string_view text) {
  size_t whole = 0;
  while (whole < text.size() && is_digit(text[whole])) ++whole;
  size_t end = whole;
  std::string_view fraction;
  if (whole > 0 && end < text.size() && text[end] == '.') {
    while (++end < text.size() && is_digit(text[end])) {
    }
    fraction = text.substr(whole + 1, end - whole - 1);
    if (fraction.empty()) return wrong(kind, text, "");
  }
  if (whole == 0) return wrong(kind, text, "");
  const std::string number(text.substr(0, end));
  const std::string_view unit = text.substr(end);
  std::vector<std::string> names;
  for (const Unit& candidate : kind.units) {
    names.emplace_back(number + candidate.name);
    if (unit != candidate.name) continue;
    uint64_t value = 0;
    if (scale(text.substr(0, whole), fraction, candidate.factor, value)) return value;
    return error(Code::invalid_argument, in_quotes(text) +
                                             " is too large or not a whole number of " +
                                             kind.smallest + ", expected " + kind.expected);
  }
  if (unit.empty()) {
    return error(Code::invalid_argument, in_quotes(text) + " has no unit, expected " +
                                             kind.expected + ", did you mean \"" + number +
                                             kind.usual + "\"?");
  }
  return wrong(kind, text, did_you_mean(text, names));
}

std::string format(std::span<const Unit> units, size_t count, uint64_t value) {
  for (const Unit& unit : units.first(count)) {
    if (value != 0 && value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + unit.name;
    }
  }
  return std::string("0").append(units[count - 1].name);
}

}  // namespace

Result<uint64_t> parse_bytes(std::string_view text) {
  return parse(bytes_kind, text);
}
Result<uint64_t> parse_duration_ms(std::string_view text) {
  TROUPE_ASSIGN(const uint64_t ms, parse(time_kind, text));
  if (ms > limits::duration_ms_max) {
    return error(Code::invalid_argument, in_quotes(text) + " is too long, expected at most " +
                                             format_duration_ms(limits::duration_ms_max));
  }
  return ms;
}
std::string format_bytes(uint64_t bytes) {
  return format(byte_units, 5, bytes);
}
std::string format_duration_ms(uint64_t ms) {
  return format(time_units, 5, ms);
}

}  // namespace troupe::launch
