// Literals, names and brackets.
#include <charconv>

#include "text/jinja_parser_nodes.hpp"

namespace troupe::text::jinja {

ExpressionPtr Parser::parse_primary() {
  const Token& token = current();
  const auto literal = [&](Value value) { return make(token.line, Literal{std::move(value)}, 0); };
  switch (token.kind) {
    case TokenKind::name:
      return parse_constant_or_name();
    case TokenKind::string: {
      std::string joined;
      const int line = token.line;
      while (is(TokenKind::string)) joined += tokens_[at_++].text;
      return make(line, Literal{Value::string(std::move(joined))}, 0);
    }
    case TokenKind::integer: {
      int64_t value = 0;
      const char* end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
        unexpected("an integer of at most 64 bits");
      }
      ++at_;
      return literal(Value::integer(value));
    }
    case TokenKind::real: {
      double value = 0;
      const char* end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
        unexpected("a number within the range of a double");
      }
      ++at_;
      return literal(Value::real(value));
    }
    default:
      break;
  }
  if (is_symbol("(")) return parse_parenthesis();
  if (is_symbol("[")) return parse_list();
  if (is_symbol("{")) return parse_dict();
  unexpected("an expression");
}

ExpressionPtr Parser::parse_constant_or_name() {
  const int line = current().line;
  const std::string name = take_name("a name");
  if (name == "true" || name == "True") return make(line, Literal{Value::boolean(true)}, 0);
  if (name == "false" || name == "False") return make(line, Literal{Value::boolean(false)}, 0);
  if (name == "none" || name == "None") return make(line, Literal{Value::none()}, 0);
  for (MacroDefinition* macro : open_macros_) {
    macro->uses_caller |= name == "caller";
    macro->uses_varargs |= name == "varargs";
    macro->uses_kwargs |= name == "kwargs";
  }
  return make(line, Name{name}, 0);
}

ExpressionPtr Parser::parse_parenthesis() {
  const int line = current().line;
  expect_symbol("(");
  if (skip_symbol(")")) return make(line, SequenceExpression{Flavour::tuple, {}}, 0);
  ExpressionPtr inner = parse_tuple(true);
  expect_symbol(")");
  return inner;
}

ExpressionPtr Parser::parse_list() {
  const int line = current().line;
  expect_symbol("[");
  SequenceExpression list{Flavour::list, {}};
  while (!skip_symbol("]")) {
    if (!list.items.empty()) {
      expect_symbol(",");
      if (skip_symbol("]")) break;
    }
    list.items.push_back(parse_expression());
  }
  const int h = height(list.items);
  return make(line, std::move(list), h);
}

ExpressionPtr Parser::parse_dict() {
  const int line = current().line;
  expect_symbol("{");
  DictExpression dict;
  int h = 0;
  while (!skip_symbol("}")) {
    if (!dict.items.empty()) {
      expect_symbol(",");
      if (skip_symbol("}")) break;
    }
    ExpressionPtr key = parse_expression();
    expect_symbol(":");
    ExpressionPtr value = parse_expression();
    h = std::max(h, height(key, value));
    dict.items.emplace_back(std::move(key), std::move(value));
  }
  return make(line, std::move(dict), h);
}

}  // namespace troupe::text::jinja
