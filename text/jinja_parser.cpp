#include "text/jinja_parser.hpp"

#include <algorithm>

#include "text/jinja_parser_nodes.hpp"

namespace troupe::text::jinja {

Parser::Nested::Nested(Parser& parser) : parser_(parser) {
  if (parser_.depth_ >= limits::template_source_depth_max) {
    throw Failure{Code::invalid_argument,
                  concat("nested more than ", limits::template_source_depth_max, " deep"),
                  parser_.current().line};
  }
  ++parser_.depth_;
}

const Token& Parser::ahead() const {
  return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
}

bool Parser::is_symbol(std::string_view symbol) const {
  return is(TokenKind::symbol) && current().text == symbol;
}

bool Parser::is_name(std::string_view name) const {
  return is(TokenKind::name) && current().text == name;
}

bool Parser::is_any_name(std::initializer_list<std::string_view> names) const {
  return is(TokenKind::name) &&
         std::find(names.begin(), names.end(), current().text) != names.end();
}

bool Parser::skip_symbol(std::string_view symbol) {
  const bool there = is_symbol(symbol);
  if (there) ++at_;
  return there;
}

bool Parser::skip_name(std::string_view name) {
  const bool there = is_name(name);
  if (there) ++at_;
  return there;
}

void Parser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) unexpected(concat("'", symbol, "'"));
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) unexpected(concat("'", name, "'"));
}

std::string Parser::take_name(std::string_view what) {
  if (!is(TokenKind::name)) unexpected(what);
  return tokens_[at_++].text;
}

void Parser::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) unexpected(what);
  ++at_;
}

void Parser::unexpected(std::string_view wanted) const {
  const auto shown = [&]() -> std::string {
    switch (current().kind) {
      case TokenKind::data:
        return "text";
      case TokenKind::variable_begin:
        return "'{{'";
      case TokenKind::variable_end:
        return "'}}'";
      case TokenKind::block_begin:
        return "'{%'";
      case TokenKind::block_end:
        return "'%}'";
      case TokenKind::string:
        return "a string";
      case TokenKind::end:
        return "the end of the template";
      default:
        return concat("'", current().text, "'");
    }
  };
  throw Failure{Code::invalid_argument, concat("expected ", wanted, ", found ", shown()),
                current().line};
}

Block Parser::parse_template() {
  Block block = parse_block({});
  if (!is(TokenKind::end)) unexpected("a statement");
  return block;
}

/// Parses up to a block tag whose name is one of `ends`; stops on that name.
Block Parser::parse_block(std::initializer_list<std::string_view> ends) {
  const Nested nested(*this);
  Block block;
  const int line = current().line;
  for (;;) {
    if (is(TokenKind::data)) {
      block.push_back(std::make_unique<Statement>(Statement{current().line, Text{current().text}}));
      ++at_;
    } else if (is(TokenKind::variable_begin)) {
      const int tag_line = current().line;
      ++at_;
      ExpressionPtr value = parse_tuple(true);
      expect(TokenKind::variable_end, "'}}'");
      block.push_back(std::make_unique<Statement>(Statement{tag_line, Output{std::move(value)}}));
    } else if (is(TokenKind::block_begin)) {
      ++at_;
      if (is_any_name(ends)) return block;
      parse_statement(block);
    } else if (ends.size() == 0) {
      return block;
    } else {
      throw Failure{Code::invalid_argument,
                    concat("the block that begins here is not closed with ", *(ends.end() - 1)),
                    line};
    }
  }
}

void Parser::parse_statement(Block& block) {
  const int line = current().line;
  const std::string name = take_name("the name of a statement");
  const auto put = [&](Statement statement) {
    statement.line = line;
    block.push_back(std::make_unique<Statement>(std::move(statement)));
  };
  if (name == "if") return put(parse_if());
  if (name == "for") return put(parse_for());
  if (name == "set") return put(parse_set());
  if (name == "macro") return put(parse_macro());
  if (name == "call") return put(parse_call_block());
  if (name == "filter") return put(parse_filter_block());
  if (name == "with") return put(parse_with());
  if (name == "print") return put(parse_print());
  if (name == "block") return put(parse_named_block());
  if (name == "autoescape") return put(parse_auto_escape());
  if (name == "include" || name == "import" || name == "from" || name == "extends") {
    return put(parse_other_template(name));
  }
  if (name == "generation") {
    end_block_tag();
    return put({line, Plain{parse_body_until("endgeneration")}});
  }
  if (name == "break" || name == "continue") {
    if (loops_ == 0) {
      throw Failure{Code::invalid_argument, concat("'", name, "' outside of a loop"), line};
    }
    end_block_tag();
    if (name == "break") return put({line, Break{}});
    return put({line, Continue{}});
  }
  --at_;
  unexpected(
      "a statement (if, for, set, macro, call, filter, with, print, block, autoescape, break, "
      "continue, generation)");
}

Block Parser::parse_body_until(std::string_view end) {
  Block body = parse_block({end});
  expect_name(end);
  end_block_tag();
  return body;
}

Statement Parser::parse_if() {
  If statement;
  do {
    ExpressionPtr condition = parse_tuple(false);
    end_block_tag();
    Block body = parse_block({"elif", "else", "endif"});
    statement.branches.emplace_back(std::move(condition), std::move(body));
  } while (skip_name("elif"));
  if (skip_name("else")) {
    end_block_tag();
    statement.otherwise = parse_block({"endif"});
  }
  expect_name("endif");
  end_block_tag();
  return {0, std::move(statement)};
}

Statement Parser::parse_for() {
  For statement;
  statement.target = parse_target();
  expect_name("in");
  statement.items = parse_tuple(false);
  if (skip_name("if")) statement.condition = parse_expression();
  statement.recursive = skip_name("recursive");
  end_block_tag();
  ++loops_;
  statement.body = parse_block({"else", "endfor"});
  --loops_;
  if (skip_name("else")) {
    end_block_tag();
    statement.otherwise = parse_block({"endfor"});
  }
  expect_name("endfor");
  end_block_tag();
  return {0, std::move(statement)};
}

Target Parser::parse_simple_target() {
  if (skip_symbol("(")) {
    Target inner = parse_target();
    expect_symbol(")");
    return inner;
  }
  Target target;
  target.name = take_name("a variable");
  if (skip_symbol(".")) target.attribute = take_name("an attribute");
  return target;
}

Target Parser::parse_target() {
  const Nested nested(*this);
  Target first = parse_simple_target();
  if (!is_symbol(",")) return first;
  Target tuple;
  tuple.parts.push_back(std::move(first));
  while (skip_symbol(",") && (is(TokenKind::name) || is_symbol("("))) {
    tuple.parts.push_back(parse_simple_target());
  }
  return tuple;
}

Statement Parser::parse_set() {
  Target target = parse_target();
  if (skip_symbol("=")) {
    ExpressionPtr value = parse_tuple(true);
    end_block_tag();
    return {0, Set{std::move(target), std::move(value)}};
  }
  SetBlock statement;
  statement.target = std::move(target);
  while (skip_symbol("|")) statement.filter = parse_filter(std::move(statement.filter));
  end_block_tag();
  statement.body = parse_body_until("endset");
  return {0, std::move(statement)};
}

std::vector<Parameter> Parser::parse_parameters() {
  std::vector<Parameter> parameters;
  expect_symbol("(");
  while (!skip_symbol(")")) {
    if (!parameters.empty()) {
      expect_symbol(",");
      if (skip_symbol(")")) break;
    }
    Parameter parameter;
    parameter.name = take_name("a parameter");
    if (skip_symbol("=")) parameter.fallback = parse_expression();
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Statement Parser::parse_macro() {
  MacroDefinition macro;
  macro.name = take_name("the macro's name");
  macro.parameters = parse_parameters();
  end_block_tag();
  macro.body = parse_macro_body(macro, "endmacro");
  return {0, std::move(macro)};
}

Block Parser::parse_macro_body(MacroDefinition& macro, std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  open_macros_.push_back(&macro);
  Block body = parse_body_until(end);
  open_macros_.pop_back();
  loops_ = loops;
  return body;
}

Statement Parser::parse_call_block() {
  CallBlock statement;
  statement.caller.name = "caller";
  if (is_symbol("(")) statement.caller.parameters = parse_parameters();
  statement.call = parse_expression();
  if (!std::holds_alternative<Call>(statement.call->node)) unexpected("a call");
  end_block_tag();
  statement.caller.body = parse_macro_body(statement.caller, "endcall");
  return {0, std::move(statement)};
}

Statement Parser::parse_filter_block() {
  FilterBlock statement;
  do {
    statement.filter = parse_filter(std::move(statement.filter));
  } while (skip_symbol("|"));
  end_block_tag();
  statement.body = parse_body_until("endfilter");
  return {0, std::move(statement)};
}

Statement Parser::parse_with() {
  With statement;
  while (!is(TokenKind::block_end)) {
    if (!statement.variables.empty()) expect_symbol(",");
    Target target = parse_simple_target();
    expect_symbol("=");
    ExpressionPtr value = parse_expression();
    statement.variables.emplace_back(std::move(target), std::move(value));
  }
  end_block_tag();
  statement.body = parse_body_until("endwith");
  return {0, std::move(statement)};
}

Statement Parser::parse_print() {
  Concat all;
  const int line = current().line;
  do {
    all.parts.push_back(parse_expression());
  } while (skip_symbol(","));
  end_block_tag();
  const int h = height(all.parts);
  return {0, Output{make(line, std::move(all), h)}};
}

Statement Parser::parse_named_block() {
  const int line = current().line;
  NamedBlock statement;
  statement.name = take_name("the block's name");
  if (std::find(block_names_.begin(), block_names_.end(), statement.name) != block_names_.end()) {
    throw Failure{Code::invalid_argument, concat("block '", statement.name, "' defined twice"),
                  line};
  }
  block_names_.push_back(statement.name);
  statement.scoped = skip_name("scoped");
  if (is_name("required")) unexpected("'%}' (a required block needs a template that extends it)");
  end_block_tag();
  const int loops = std::exchange(loops_, 0);
  const auto macros = std::exchange(open_macros_, {});
  statement.body = parse_block({"endblock"});
  expect_name("endblock");
  skip_name(statement.name);
  end_block_tag();
  loops_ = loops;
  open_macros_ = macros;
  return {0, std::move(statement)};
}

Statement Parser::parse_auto_escape() {
  AutoEscape statement;
  statement.value = parse_expression();
  end_block_tag();
  statement.body = parse_body_until("endautoescape");
  return {0, std::move(statement)};
}

Statement Parser::parse_other_template(const std::string& name) {
  while (!is(TokenKind::block_end) && !is(TokenKind::end)) ++at_;
  end_block_tag();
  return {0, OtherTemplate{name}};
}

Block parse(std::string_view source) {
  return Parser(lex(source)).parse_template();
}

}  // namespace troupe::text::jinja
