// Operators, postfixes, filters and tests.
#include <algorithm>

#include "text/jinja_parser_nodes.hpp"

namespace troupe::text::jinja {

ExpressionPtr Parser::parse_expression() {
  const Nested nested(*this);
  ExpressionPtr value = parse_or();
  if (!is_name("if")) return value;
  const int line = current().line;
  ++at_;
  ExpressionPtr condition = parse_or();
  ExpressionPtr otherwise;
  if (skip_name("else")) otherwise = parse_expression();
  const int h = height(value, condition, otherwise);
  return make(line, Conditional{std::move(condition), std::move(value), std::move(otherwise)}, h);
}

ExpressionPtr Parser::parse_tuple(bool with_conditional) {
  const auto parse_one = [&] { return with_conditional ? parse_expression() : parse_or(); };
  const int line = current().line;
  ExpressionPtr first = parse_one();
  if (!is_symbol(",")) return first;
  SequenceExpression tuple{Flavour::tuple, {}};
  tuple.items.push_back(std::move(first));
  while (skip_symbol(",")) {
    if (is(TokenKind::variable_end) || is(TokenKind::block_end) || is_symbol(")")) break;
    tuple.items.push_back(parse_one());
  }
  const int h = height(tuple.items);
  return make(line, std::move(tuple), h);
}

ExpressionPtr Parser::parse_or() {
  const Nested nested(*this);
  ExpressionPtr left = parse_and();
  while (is_name("or")) {
    const int line = current().line;
    ++at_;
    ExpressionPtr right = parse_and();
    const int h = height(left, right);
    left = make(line, Logical{false, std::move(left), std::move(right)}, h);
  }
  return left;
}

ExpressionPtr Parser::parse_and() {
  ExpressionPtr left = parse_not();
  while (is_name("and")) {
    const int line = current().line;
    ++at_;
    ExpressionPtr right = parse_not();
    const int h = height(left, right);
    left = make(line, Logical{true, std::move(left), std::move(right)}, h);
  }
  return left;
}

ExpressionPtr Parser::parse_not() {
  if (!is_name("not")) return parse_compare();
  const Nested nested(*this);
  const int line = current().line;
  ++at_;
  ExpressionPtr operand = parse_not();
  const int h = height(operand);
  return make(line, Unary{UnaryOperator::logical_not, std::move(operand)}, h);
}

ExpressionPtr Parser::parse_compare() {
  const int line = current().line;
  Compare compare;
  compare.first = parse_sum();
  int h = height(compare.first);
  for (;;) {
    Comparison op;
    if (skip_symbol("=="))
      op = Comparison::eq;
    else if (skip_symbol("!="))
      op = Comparison::ne;
    else if (skip_symbol("<="))
      op = Comparison::le;
    else if (skip_symbol(">="))
      op = Comparison::ge;
    else if (skip_symbol("<"))
      op = Comparison::lt;
    else if (skip_symbol(">"))
      op = Comparison::gt;
    else if (skip_name("in"))
      op = Comparison::in;
    else if (is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in") {
      at_ += 2;
      op = Comparison::not_in;
    } else {
      break;
    }
    ExpressionPtr right = parse_sum();
    h = std::max(h, height(right));
    compare.rest.emplace_back(op, std::move(right));
  }
  if (compare.rest.empty()) return std::move(compare.first);
  return make(line, std::move(compare), h);
}

ExpressionPtr Parser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (is_symbol("+") || is_symbol("-")) {
    const int line = current().line;
    const BinaryOperator op = is_symbol("+") ? BinaryOperator::add : BinaryOperator::subtract;
    ++at_;
    ExpressionPtr right = parse_concat();
    const int h = height(left, right);
    left = make(line, Binary{op, std::move(left), std::move(right)}, h);
  }
  return left;
}

ExpressionPtr Parser::parse_concat() {
  const int line = current().line;
  Concat concatenation;
  do {
    concatenation.parts.push_back(parse_product());
  } while (skip_symbol("~"));
  if (concatenation.parts.size() == 1) return std::move(concatenation.parts[0]);
  const int h = height(concatenation.parts);
  return make(line, std::move(concatenation), h);
}

ExpressionPtr Parser::parse_product() {
  ExpressionPtr left = parse_power();
  for (;;) {
    const int line = current().line;
    BinaryOperator op;
    if (skip_symbol("*"))
      op = BinaryOperator::multiply;
    else if (skip_symbol("/"))
      op = BinaryOperator::divide;
    else if (skip_symbol("//"))
      op = BinaryOperator::floor_divide;
    else if (skip_symbol("%"))
      op = BinaryOperator::modulo;
    else
      return left;
    ExpressionPtr right = parse_power();
    const int h = height(left, right);
    left = make(line, Binary{op, std::move(left), std::move(right)}, h);
  }
}

ExpressionPtr Parser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (is_symbol("**")) {
    const int line = current().line;
    ++at_;
    ExpressionPtr right = parse_unary(true);
    const int h = height(left, right);
    left = make(line, Binary{BinaryOperator::power, std::move(left), std::move(right)}, h);
  }
  return left;
}

ExpressionPtr Parser::parse_unary(bool with_filters) {
  const Nested nested(*this);
  const int line = current().line;
  ExpressionPtr value;
  if (is_symbol("-") || is_symbol("+")) {
    const UnaryOperator op = is_symbol("-") ? UnaryOperator::negate : UnaryOperator::plus;
    ++at_;
    ExpressionPtr operand = parse_unary(false);
    const int h = height(operand);
    value = make(line, Unary{op, std::move(operand)}, h);
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filters ? parse_filters(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr object) {
  for (;;) {
    if (is_symbol("."))
      object = parse_attribute(std::move(object));
    else if (is_symbol("["))
      object = parse_subscript(std::move(object));
    else if (is_symbol("("))
      object = parse_call(std::move(object));
    else
      return object;
  }
}

ExpressionPtr Parser::parse_attribute(ExpressionPtr object) {
  const int line = current().line;
  expect_symbol(".");
  const int h = height(object);
  if (!is(TokenKind::integer)) {
    return make(line, Attribute{std::move(object), take_name("an attribute")}, h);
  }
  ExpressionPtr key = parse_primary();
  return make(line, Index{std::move(object), std::move(key)}, h);
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr object) {
  const int line = current().line;
  expect_symbol("[");
  const auto at_end = [&] { return is_symbol(":") || is_symbol("]"); };
  ExpressionPtr parts[3];
  if (!at_end()) parts[0] = parse_expression();
  if (!is_symbol(":")) {
    if (parts[0] == nullptr) unexpected("an index");
    expect_symbol("]");
    const int h = height(object, parts[0]);
    return make(line, Index{std::move(object), std::move(parts[0])}, h);
  }
  expect_symbol(":");
  if (!at_end()) parts[1] = parse_expression();
  if (skip_symbol(":") && !at_end()) parts[2] = parse_expression();
  expect_symbol("]");
  const int h = height(object, parts[0], parts[1], parts[2]);
  return make(
      line, Slice{std::move(object), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])},
      h);
}

CallArguments Parser::parse_arguments() {
  CallArguments arguments;
  expect_symbol("(");
  bool first = true;
  while (!skip_symbol(")")) {
    if (!std::exchange(first, false)) {
      expect_symbol(",");
      if (skip_symbol(")")) break;
    }
    const bool named =
        is(TokenKind::name) && ahead().kind == TokenKind::symbol && ahead().text == "=";
    if (arguments.more_named != nullptr) unexpected("')' (** ends the arguments)");
    if (skip_symbol("**")) {
      arguments.more_named = parse_expression();
    } else if (arguments.more == nullptr && skip_symbol("*")) {
      arguments.more = parse_expression();
    } else if (named) {
      std::string name = take_name("a name");
      expect_symbol("=");
      arguments.named.emplace_back(std::move(name), parse_expression());
    } else {
      if (!arguments.named.empty() || arguments.more != nullptr) unexpected("a named argument");
      arguments.positional.push_back(parse_expression());
    }
  }
  return arguments;
}

ExpressionPtr Parser::parse_call(ExpressionPtr callee) {
  const int line = current().line;
  CallArguments arguments = parse_arguments();
  const int h = std::max(height(callee), height(arguments));
  return make(line, Call{std::move(callee), std::move(arguments)}, h);
}

ExpressionPtr Parser::parse_filters(ExpressionPtr input) {
  for (;;) {
    if (skip_symbol("|"))
      input = parse_filter(std::move(input));
    else if (is_name("is"))
      input = parse_test(std::move(input));
    else if (is_symbol("("))
      input = parse_call(std::move(input));
    else
      return input;
  }
}

std::string Parser::parse_dotted_name(std::string_view what) {
  std::string name = take_name(what);
  while (skip_symbol(".")) (name += '.') += take_name(what);
  return name;
}

ExpressionPtr Parser::parse_filter(ExpressionPtr input) {
  const int line = current().line;
  std::string name = parse_dotted_name("a filter");
  CallArguments arguments;
  if (is_symbol("(")) arguments = parse_arguments();
  const int h = std::max(height(input), height(arguments));
  return make(line, FilterCall{std::move(input), std::move(name), std::move(arguments)}, h);
}

ExpressionPtr Parser::parse_test(ExpressionPtr input) {
  const int line = current().line;
  expect_name("is");
  const bool negated = skip_name("not");
  std::string name = parse_dotted_name("a test");
  CallArguments arguments;
  const bool operand = is(TokenKind::string) || is(TokenKind::integer) || is(TokenKind::real) ||
                       is_symbol("[") || is_symbol("{") ||
                       (is(TokenKind::name) && !is_any_name({"else", "or", "and", "is", "if"}));
  if (is_symbol("(")) {
    arguments = parse_arguments();
  } else if (is_name("is")) {
    unexpected("an operator (tests cannot be chained)");
  } else if (operand) {
    arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  const int h = std::max(height(input), height(arguments));
  ExpressionPtr test =
      make(line, TestCall{std::move(input), std::move(name), std::move(arguments)}, h);
  if (!negated) return test;
  return make(line, Unary{UnaryOperator::logical_not, std::move(test)}, h + 1);
}

}  // namespace troupe::text::jinja
