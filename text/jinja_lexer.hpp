// Template source to tokens, with Jinja's white-space control, trim_blocks and lstrip_blocks on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::text::jinja {

enum class TokenKind : uint8_t {
  data,            ///< text between tags, as it is to be written
  variable_begin,  ///< {{
  variable_end,
  block_begin,  ///< {%
  block_end,
  name,
  string,   ///< text holds the unescaped value
  integer,  ///< text holds the digits
  real,
  symbol,  ///< operator or bracket, text holds it
  end
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

/// Throws Failure. The last token is `end`. One newline at the end of the source is dropped.
std::vector<Token> lex(std::string_view source);

}  // namespace troupe::text::jinja
