// The syntax tree of a template. Owned by its Block; immutable once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_value.hpp"

namespace troupe::text::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Block = std::vector<std::unique_ptr<Statement>>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more;        ///< *more: further positional ones; may be null
  ExpressionPtr more_named;  ///< **more_named; may be null
};

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct SequenceExpression {
  Flavour flavour;  ///< list or tuple
  std::vector<ExpressionPtr> items;
};
struct DictExpression {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
enum class UnaryOperator : uint8_t { negate, plus, logical_not };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Logical {
  bool is_and;
  ExpressionPtr left;
  ExpressionPtr right;
};
enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };
/// a < b < c: each operator compares with the operand before.
struct Compare {
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct Concat {
  std::vector<ExpressionPtr> parts;
};
struct Conditional {
  ExpressionPtr condition;
  ExpressionPtr then;
  ExpressionPtr otherwise;  ///< may be null
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Index {
  ExpressionPtr object;
  ExpressionPtr key;
};
struct Slice {
  ExpressionPtr object;
  ExpressionPtr start;  ///< each may be null
  ExpressionPtr stop;
  ExpressionPtr step;
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct FilterCall {
  ExpressionPtr input;  ///< null inside {% filter %} and block sets: the block's text
  std::string name;
  CallArguments arguments;
};
struct TestCall {
  ExpressionPtr input;
  std::string name;
  CallArguments arguments;
};

struct Expression {
  int line;
  int height;  ///< of the tree below, bounded: recursion over the tree is bounded by it
  std::variant<Literal, Name, SequenceExpression, DictExpression, Unary, Binary, Logical, Compare,
               Concat, Conditional, Attribute, Index, Slice, Call, FilterCall, TestCall>
      node;
};

/// What set and for assign to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  std::string name;
  std::string attribute;      ///< empty: the name itself
  std::vector<Target> parts;  ///< a tuple if not empty
};

struct Text {
  std::string text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct For {
  Target target;
  ExpressionPtr items;
  ExpressionPtr condition;  ///< may be null
  bool recursive = false;   ///< loop(items) runs it again
  Block body;
  Block otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  ///< may be null
  Block body;
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct Parameter {
  std::string name;
  ExpressionPtr fallback;  ///< null: none
};
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  // Which of the names that every macro may use it does use: it takes no such arguments otherwise.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
  Block body;
};
/// {% call(parameters) callee(...) %}: the body is the macro `caller` of the call.
struct CallBlock {
  MacroDefinition caller;
  ExpressionPtr call;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Block body;
};
/// A block without an effect of its own: {% generation %}.
struct Plain {
  Block body;
};
/// {% block NAME %}: there is no inheritance, so it is rendered where it stands.
struct NamedBlock {
  std::string name;
  bool scoped;  ///< it sees the variables around it, not only the template's
  Block body;
};
/// {% autoescape VALUE %}: only a false value is rendered.
struct AutoEscape {
  ExpressionPtr value;
  Block body;
};
/// A statement that needs other templates: an error where it is reached, as in Jinja.
struct OtherTemplate {
  std::string name;
};
struct Break {};
struct Continue {};

struct Statement {
  int line;
  std::variant<Text, Output, If, For, Set, SetBlock, FilterBlock, MacroDefinition, CallBlock, With,
               Plain, NamedBlock, AutoEscape, OtherTemplate, Break, Continue>
      node;
};

}  // namespace troupe::text::jinja
