// Expressions of a rendering.
#include <algorithm>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"

namespace troupe::text::jinja {

Value Rendering::evaluate(const Expression& expression) {
  const Nested nested(*this);
  budget_.work();
  try {
    return std::visit([&](const auto& node) { return evaluate(node); }, expression.node);
  } catch (Failure& failure) {
    if (failure.line == 0) failure.line = expression.line;
    throw;
  }
}

Value Rendering::evaluate_optional(const ExpressionPtr& expression) {
  return expression == nullptr ? Value::none() : evaluate(*expression);
}

Value Rendering::evaluate(const Name& node) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    budget_.work(1 + scope->variables.size() / 32);
    for (const auto& [name, value] : scope->variables) {
      if (name == node.name) return value;
    }
  }
  if (const Builtin* builtin = find_global(node.name)) return Value::builtin(builtin);
  return Value::undefined(concat("'", node.name, "' is undefined"));
}

Value Rendering::evaluate(const SequenceExpression& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ExpressionPtr& item : node.items) items.push_back(evaluate(*item));
  budget_.allocate(items.size() * sizeof(Value));
  return Value::sequence(std::move(items), node.flavour);
}

Value Rendering::evaluate(const DictExpression& node) {
  Pairs pairs;
  for (const auto& [key, value] : node.items) {
    const Value name = evaluate(*key);
    set_key(budget_, pairs, name, evaluate(*value));
  }
  return Value::dict(std::move(pairs));
}

Value Rendering::evaluate(const Unary& node) {
  const Value operand = evaluate(*node.operand);
  switch (node.op) {
    case UnaryOperator::logical_not:
      return Value::boolean(!operand.truth());
    case UnaryOperator::negate:
      return negated(operand);
    case UnaryOperator::plus:
      if (!operand.is_number()) fail("'+' does not work on ", operand.type_name());
      return operand;
  }
  return {};
}

Value Rendering::evaluate(const Binary& node) {
  const Value left = evaluate(*node.left);
  const Value right = evaluate(*node.right);
  return binary(budget_, node.op, left, right);
}

Value Rendering::evaluate(const Logical& node) {
  const Value left = evaluate(*node.left);
  return left.truth() == node.is_and ? evaluate(*node.right) : left;
}

Value Rendering::evaluate(const Compare& node) {
  Value left = evaluate(*node.first);
  for (const auto& [op, operand] : node.rest) {
    Value right = evaluate(*operand);
    if (!compare(budget_, op, left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Rendering::evaluate(const Concat& node) {
  std::string text;
  for (const ExpressionPtr& part : node.parts) text += to_text(budget_, evaluate(*part));
  return make_text(budget_, std::move(text));
}

Value Rendering::evaluate(const Conditional& node) {
  if (evaluate(*node.condition).truth()) return evaluate(*node.then);
  if (node.otherwise != nullptr) return evaluate(*node.otherwise);
  return Value::undefined("the condition of an if without else was false");
}

Value Rendering::evaluate(const Attribute& node) {
  return get_attribute(budget_, evaluate(*node.object), node.name);
}

Value Rendering::evaluate(const Index& node) {
  const Value object = evaluate(*node.object);
  return get_item(budget_, object, evaluate(*node.key));
}

Value Rendering::evaluate(const Slice& node) {
  const Value object = evaluate(*node.object);
  const Value start = evaluate_optional(node.start);
  const Value stop = evaluate_optional(node.stop);
  return get_slice(budget_, object, start, stop, evaluate_optional(node.step));
}

Arguments Rendering::evaluate(const CallArguments& arguments) {
  Arguments values;
  for (const ExpressionPtr& value : arguments.positional) {
    values.positional.push_back(evaluate(*value));
  }
  for (const auto& [name, value] : arguments.named) {
    values.named.emplace_back(name, evaluate(*value));
  }
  if (arguments.more != nullptr) {
    for (Value& value : iterate(budget_, evaluate(*arguments.more))) {
      values.positional.push_back(std::move(value));
    }
  }
  if (arguments.more_named == nullptr) return values;
  const Value more = evaluate(*arguments.more_named);
  if (!more.is(Kind::dict)) fail("the argument after ** must be a mapping, not ", more.type_name());
  const size_t count = values.named.size() + more.as_dict().items.size();
  budget_.work(count * count / 8);
  for (const auto& [name, value] : more.as_dict().items) {
    if (!name.is(Kind::string)) fail("keywords must be strings");
    const auto is_it = [&wanted = name.as_string()](const auto& old) {
      return old.first == wanted;
    };
    if (std::any_of(values.named.begin(), values.named.end(), is_it)) {
      fail("got multiple values for keyword argument '", name.as_string(), "'");
    }
    values.named.emplace_back(name.as_string(), value);
  }
  return values;
}

Value Rendering::evaluate(const Call& node) {
  const Value callee = evaluate(*node.callee);
  return call(callee, evaluate(node.arguments));
}

Value Rendering::evaluate(const FilterCall& node) {
  const Value input =
      node.input == nullptr ? make_text(budget_, *block_text_) : evaluate(*node.input);
  return filter(node.name, input, evaluate(node.arguments));
}

Value Rendering::evaluate(const TestCall& node) {
  const Value input = evaluate(*node.input);
  return Value::boolean(test(node.name, input, evaluate(node.arguments)));
}

Value Rendering::call(const Value& callee, const Arguments& arguments) {
  budget_.work();
  switch (callee.kind()) {
    case Kind::undefined:
      fail(callee.why_undefined());
    case Kind::builtin:
      return callee.as_builtin()->call(*this, arguments);
    case Kind::macro:
      return call_macro(*callee.as_macro(), arguments);
    case Kind::method:
      return call_method(budget_, *callee.as_method().self, callee.as_method().name, arguments);
    case Kind::loop:
      return call_loop(callee.as_loop(), arguments);
    case Kind::cycler:
      if (callee.as_cycler().joiner) return call_method(budget_, callee, "next", arguments);
      fail("'Cycler' object is not callable");
    default:
      fail("'", callee.type_name(), "' object is not callable");
  }
}

Value Rendering::filter(const std::string& name, const Value& input, const Arguments& arguments) {
  budget_.work();
  if (const FilterFunction function = find_filter(name)) return function(*this, input, arguments);
  if (name == "random") {
    fail("the filter 'random' is not supported: a prompt depends on nothing but its input");
  }
  fail("No filter named '", name, "'.");
}

FilterFunction find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_layout_filter, find_markup_filter,
                          find_sequence_filter, find_selection_filter, find_value_filter}) {
    if (const FilterFunction function = find(name)) return function;
  }
  return nullptr;
}

bool Rendering::test(const std::string& name, const Value& input, const Arguments& arguments) {
  budget_.work();
  if (const TestFunction function = find_test(name)) return function(*this, input, arguments);
  fail("No test named '", name, "'.");
}

Value Rendering::make_name_space(std::vector<std::pair<std::string, Value>> variables) {
  budget_.allocate(sizeof(NameSpace) + variables.size() * sizeof(variables[0]));
  return Value::name_space(&name_spaces_.emplace_back(NameSpace{std::move(variables)}));
}

}  // namespace troupe::text::jinja
