// Tokens to syntax tree: recursive descent over Jinja's grammar, with bounded nesting.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.hpp"
#include "text/jinja_lexer.hpp"

namespace troupe::text::jinja {

/// Throws Failure with the line.
Block parse(std::string_view source);

/// The parser's two halves share this: jinja_parser.cpp has the statements,
/// jinja_expression_parser.cpp and jinja_primary_parser.cpp the expressions.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Block parse_template();

 private:
  // Tokens.
  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const;
  [[nodiscard]] bool is(TokenKind kind) const { return current().kind == kind; }
  [[nodiscard]] bool is_symbol(std::string_view symbol) const;
  [[nodiscard]] bool is_name(std::string_view name) const;
  [[nodiscard]] bool is_any_name(std::initializer_list<std::string_view> names) const;
  bool skip_symbol(std::string_view symbol);
  bool skip_name(std::string_view name);
  void expect_symbol(std::string_view symbol);
  void expect_name(std::string_view name);
  std::string take_name(std::string_view what);
  void expect(TokenKind kind, std::string_view what);
  [[noreturn]] void unexpected(std::string_view wanted) const;

  // Statements.
  Block parse_block(std::initializer_list<std::string_view> ends);
  void parse_statement(Block& block);
  Statement parse_if();
  Statement parse_for();
  Statement parse_set();
  Statement parse_macro();
  Statement parse_call_block();
  Statement parse_filter_block();
  Statement parse_with();
  Statement parse_print();
  Statement parse_named_block();
  Statement parse_auto_escape();
  Statement parse_other_template(const std::string& name);
  Block parse_macro_body(MacroDefinition& macro, std::string_view end);
  Block parse_body_until(std::string_view end);
  std::vector<Parameter> parse_parameters();
  Target parse_target();
  Target parse_simple_target();
  void end_block_tag() { expect(TokenKind::block_end, "%}"); }

  // Expressions, weakest binding first.
  ExpressionPtr parse_expression();
  ExpressionPtr parse_tuple(bool with_conditional);
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_constant_or_name();
  ExpressionPtr parse_parenthesis();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr object);
  ExpressionPtr parse_attribute(ExpressionPtr object);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_filters(ExpressionPtr input);
  ExpressionPtr parse_filter(ExpressionPtr input);
  ExpressionPtr parse_test(ExpressionPtr input);
  std::string parse_dotted_name(std::string_view what);
  CallArguments parse_arguments();

  template <class Node>
  ExpressionPtr make(int line, Node node, int height);

  /// Counts nesting while it lives.
  class Nested {
   public:
    explicit Nested(Parser& parser);
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;  ///< enclosing for loops: break and continue need one
  std::vector<MacroDefinition*> open_macros_;
  std::vector<std::string> block_names_;
};

}  // namespace troupe::text::jinja
