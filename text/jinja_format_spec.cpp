#include "text/jinja_format_spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/jinja_operations.hpp"
#include "text/jinja_strings.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

constexpr int64_t precision_max = 60;

bool is_one_of(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

/// A number before it is laid out: sign and prefix stand before zeros that fill it up.
struct NumberText {
  bool negative = false;
  std::string prefix;
  std::string digits;  ///< up to the point: what grouping marks apply to
  std::string rest;    ///< from the point on, with exponent or %
};

/// C's spelling of a finite magnitude.
std::string spelled(double magnitude, char type, int precision, bool alternate) {
  std::array<char, 512> buffer{};
  const char pattern[] = {'%', '.', '*', type, '\0'};
  const char with_mark[] = {'%', '#', '.', '*', type, '\0'};
  const int n = std::snprintf(buffer.data(), buffer.size(), alternate ? with_mark : pattern,
                              precision, magnitude);
  return {buffer.data(), static_cast<size_t>(n)};
}

/// Without a type: like g, but with a digit after the point, and an exponent one digit earlier.
std::string general(double magnitude, int precision, bool alternate) {
  precision = std::max(precision, 1);
  const std::string scientific = spelled(magnitude, 'e', precision - 1, alternate);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (magnitude != 0 && exponent + 1 > precision - 1) {
    std::string mantissa = scientific.substr(0, scientific.find('e'));
    if (!alternate && mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + scientific.substr(scientific.find('e'));
  }
  std::string text = spelled(magnitude, 'g', precision, alternate);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

NumberText real_parts(double value, const FormatSpec& spec) {
  NumberText parts;
  parts.negative = std::signbit(value) && !std::isnan(value);
  const bool percent = spec.type == '%';
  const double magnitude = std::fabs(value) * (percent ? 100.0 : 1.0);
  const char type = percent ? 'f' : spec.type == 'n' ? 'g' : spec.type;
  if (spec.precision > precision_max) {
    fail("a precision of ", spec.precision, " is above ", precision_max);
  }
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  std::string text;
  if (!std::isfinite(magnitude)) {
    text = std::isnan(magnitude) ? "nan" : "inf";
    if (is_one_of(type, "EFG")) text = upper(text);
  } else if (type == '\0') {
    text =
        spec.precision < 0 ? real_text(magnitude) : general(magnitude, precision, spec.alternate);
  } else {
    text = spelled(magnitude, type, precision, spec.alternate);
  }
  const size_t end = std::isfinite(magnitude) ? text.find_first_of(".eE") : 0;
  parts.digits = text.substr(0, end);
  if (end != std::string::npos) parts.rest = text.substr(end);
  if (percent) parts.rest += '%';
  return parts;
}

NumberText integer_parts(int64_t value, const FormatSpec& spec) {
  NumberText parts;
  parts.negative = value < 0;
  const uint64_t magnitude =
      parts.negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  const int base = is_one_of(spec.type, "xX") ? 16
                   : spec.type == 'o'         ? 8
                   : spec.type == 'b'         ? 2
                                              : 10;
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base).ptr;
  parts.digits.assign(buffer.data(), end);
  if (spec.type == 'X') parts.digits = upper(parts.digits);
  if (spec.alternate && base != 10) parts.prefix = {'0', spec.type};
  return parts;
}

/// A mark before every third (binary, octal, hexadecimal: fourth) digit from the right; zeros are
/// put in front until all has the width.
std::string grouped(const std::string& digits, const FormatSpec& spec, int64_t width) {
  const size_t group = is_one_of(spec.type, "boxX") ? 4 : 3;
  std::string reversed;
  for (size_t i = 0; i < digits.size() || static_cast<int64_t>(reversed.size()) < width; ++i) {
    if (i > 0 && i % group == 0) reversed += spec.grouping;
    reversed += i < digits.size() ? digits[digits.size() - 1 - i] : '0';
  }
  std::ranges::reverse(reversed);
  return reversed;
}

void check_width(Budget& budget, int64_t width) {
  if (width > static_cast<int64_t>(limits::prompt_bytes_max)) {
    fail("a format's width of ", width, " is above ", limits::prompt_bytes_max);
  }
  budget.allocate(static_cast<size_t>(width));
}

/// As pad(), but here the odd character of a centred text goes to the right.
std::string aligned(Budget& budget, const std::string& text, const FormatSpec& spec, char align) {
  if (align != '^') return pad(budget, text, spec.width, spec.fill, align == '<' ? -1 : 1);
  const int64_t length = static_cast<int64_t>(utf8_length(text));
  const int64_t left = std::max<int64_t>(spec.width - length, 0) / 2;
  return pad(budget, pad(budget, text, length + left, spec.fill, 1), spec.width, spec.fill, -1);
}

std::string laid_out(Budget& budget, const NumberText& parts, const FormatSpec& spec) {
  check_width(budget, spec.width);
  std::string sign = parts.negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  sign += parts.prefix;
  const int64_t room = spec.width - static_cast<int64_t>(sign.size() + parts.rest.size());
  std::string digits = parts.digits;
  const bool zeros = spec.zeros && (spec.align == '\0' || spec.align == '=' || spec.align == '>');
  if (spec.grouping != '\0') {
    digits = grouped(digits, spec, zeros ? room : 0);
  } else if (zeros) {
    digits = pad(budget, digits, room, "0", 1);
  }
  if (spec.align == '=') {
    return sign + pad(budget, digits + parts.rest, spec.width - static_cast<int64_t>(sign.size()),
                      spec.fill, 1);
  }
  return aligned(budget, sign + digits + parts.rest, spec, spec.align == '\0' ? '>' : spec.align);
}

std::string laid_out(Budget& budget, std::string text, const FormatSpec& spec, char align) {
  check_width(budget, spec.width);
  if (spec.precision >= 0 && spec.precision < static_cast<int64_t>(utf8_length(text))) {
    size_t end = 0;
    for (int64_t i = 0; i < spec.precision; ++i) end += utf8_step(text, end).bytes;
    text.resize(end);
  }
  return aligned(budget, text, spec, align == '\0' ? '<' : align);
}

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto take = [&](std::string_view set) {
    return at < text.size() && is_one_of(text[at], set) ? text[at++] : '\0';
  };
  const size_t first = text.empty() ? 0 : utf8_step(text, 0).bytes;
  if (first < text.size() && is_one_of(text[first], "<>^=")) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else {
    spec.align = take("<>^=");
  }
  const bool filled = at == first + 1 && first > 0;
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0') {
    if (!filled && spec.align == '\0') {
      spec.zeros = true;
    } else if (!filled) {
      spec.fill = "0";
    }
  }
  spec.width = read_format_number(text, at);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') {
      fail("Format specifier missing precision");
    }
    spec.precision = read_format_number(text, at);
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("Invalid format specifier '", text, "'");
  return spec;
}

std::string character_of(Budget& budget, const Value& value) {
  if (value.is(Kind::string) && utf8_length(value.as_string()) == 1) return value.as_string();
  if (!value.is_integral()) fail("%c requires int or char");
  const int64_t code = value.to_integer();
  if (code < 0 || code > 0x10ffff) fail("%c arg not in range(0x110000)");
  budget.work();
  std::string out;
  append_utf8(out, static_cast<uint32_t>(code));
  return out;
}

}  // namespace

int64_t read_format_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::min<int64_t>(value * 10 + (text[at] - '0'),
                              static_cast<int64_t>(limits::prompt_bytes_max) + 1);
    ++at;
  }
  return value;
}

std::string brace_text(Budget& budget, const Value& value, std::string_view text) {
  if (text.empty()) return to_text(budget, value);
  const FormatSpec spec = parse_spec(text);
  const auto unknown = [&] {
    fail("Unknown format code '", std::string(1, spec.type), "' for object of type '",
         value.type_name(), "'");
  };
  if (value.is(Kind::string)) {
    if (spec.type != '\0' && spec.type != 's') unknown();
    if (spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouping != '\0') {
      fail("a string cannot be formatted as '", text, "'");
    }
    FormatSpec with_fill = spec;
    if (spec.zeros) with_fill.fill = "0";
    return laid_out(budget, value.as_string(), with_fill, spec.align);
  }
  if (!value.is_number()) {
    fail("unsupported format string passed to ", value.type_name(), ".__format__");
  }
  if (value.is(Kind::real) || is_one_of(spec.type, "eEfFgG%")) {
    if (spec.type != '\0' && !is_one_of(spec.type, "eEfFgGn%")) unknown();
    return laid_out(budget, real_parts(value.to_real(), spec), spec);
  }
  if (spec.type != '\0' && !is_one_of(spec.type, "dboxXcn")) unknown();
  if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
  if (spec.type == 'c') {
    return laid_out(budget, character_of(budget, value), spec,
                    spec.align == '\0' ? '>' : spec.align);
  }
  return laid_out(budget, integer_parts(value.to_integer(), spec), spec);
}

std::string percent_text(Budget& budget, const Value& value, const FormatSpec& given) {
  FormatSpec spec = given;
  const auto need_number = [&](bool real_allowed) {
    if (value.is_integral() || (real_allowed && value.is(Kind::real))) return;
    fail("%", std::string(1, spec.type), " format: a number is required, not ", value.type_name());
  };
  switch (spec.type) {
    case 'r':
      return laid_out(budget, repr(budget, value), spec, spec.align);
    case 's':
      return laid_out(budget, to_text(budget, value), spec, spec.align);
    case 'c':
      spec.precision = -1;
      return laid_out(budget, character_of(budget, value), spec, spec.align);
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      const bool decimal = !is_one_of(spec.type, "xXo");
      need_number(decimal);
      if (value.is(Kind::real) && !(std::fabs(value.as_real()) < 9.2e18)) {
        fail("a number does not fit into 64 bits");
      }
      if (decimal) spec.type = 'd';
      NumberText parts = integer_parts(
          value.is(Kind::real) ? static_cast<int64_t>(value.as_real()) : value.to_integer(), spec);
      if (spec.precision > precision_max) {
        fail("a precision of ", spec.precision, " is above ", precision_max);
      }
      parts.digits = pad(budget, parts.digits, spec.precision, "0", 1);
      return laid_out(budget, parts, spec);
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      need_number(true);
      return laid_out(budget, real_parts(value.to_real(), spec), spec);
    default:
      fail("unsupported format character '", std::string(1, spec.type), "'");
  }
}

}  // namespace troupe::text::jinja
