// Scopes and statements of a rendering; loops and macros have files of their own.
#include "text/jinja_rendering.hpp"

#include <algorithm>

#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

Rendering::~Rendering() {
  // Scopes hold values whose macros point at scopes: drop the values while all of them exist.
  for (const auto& scope : captured_) scope->variables.clear();
}

Rendering::Nested::Nested(Rendering& rendering) : rendering_(rendering) {
  if (rendering_.depth_ >= limits::template_depth_max) {
    throw Failure{Code::exhausted,
                  concat("the template nests calls and expressions more than ",
                         limits::template_depth_max, " deep"),
                  0};
  }
  ++rendering_.depth_;
}

Rendering::Opened::Opened(Rendering& rendering, Scope* parent)
    : rendering_(rendering), before_(rendering.scope_) {
  rendering_.budget_.work();
  auto scope = std::make_unique<Scope>();
  scope->parent = parent;
  rendering_.scope_ = scope.release();
}

Rendering::Opened::~Opened() {
  std::unique_ptr<Scope> scope(std::exchange(rendering_.scope_, before_));
  if (scope->captured) rendering_.captured_.push_back(std::move(scope));
}

std::string Rendering::run(const Block& block,
                           const std::vector<std::pair<std::string, Value>>& variables) {
  std::string out;
  out_ = &out;
  const Opened globals(*this, nullptr);
  root_ = scope_;
  for (const auto& [name, value] : variables) scope_->variables.emplace_back(name, value);
  run_block(block);
  return out;
}

void Rendering::write(std::string_view text) {
  budget_.touch(text.size());
  if (text.size() > limits::prompt_bytes_max - out_->size()) {
    throw Failure{Code::exhausted,
                  concat("the template writes more than ", limits::prompt_bytes_max, " bytes"), 0};
  }
  out_->append(text);
}

std::string Rendering::capture(const Block& body) {
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  {
    const Opened opened(*this, scope_);
    run_block(body);
  }
  out_ = before;
  budget_.allocate(text.size());
  return text;
}

Rendering::Flow Rendering::run_block(const Block& block) {
  const Nested nested(*this);
  for (const auto& statement : block) {
    const Flow flow = run_statement(*statement);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Rendering::Flow Rendering::run_statement(const Statement& statement) {
  budget_.work();
  try {
    return std::visit([&](const auto& node) { return run(node); }, statement.node);
  } catch (Failure& failure) {
    if (failure.line == 0) failure.line = statement.line;
    throw;
  }
}

Rendering::Flow Rendering::run(const Text& node) {
  write(node.text);
  return Flow::next;
}

Rendering::Flow Rendering::run(const Output& node) {
  write(to_text(budget_, evaluate(*node.value)));
  return Flow::next;
}

Rendering::Flow Rendering::run(const If& node) {
  for (const auto& [condition, body] : node.branches) {
    if (evaluate(*condition).truth()) return run_block(body);
  }
  return run_block(node.otherwise);
}

void Rendering::set_variable(std::string_view name, Value value) {
  for (auto& [old_name, old_value] : scope_->variables) {
    if (old_name != name) continue;
    old_value = std::move(value);
    return;
  }
  scope_->variables.emplace_back(name, std::move(value));
}

void Rendering::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = iterate(budget_, value);
    if (items.size() != target.parts.size()) {
      fail("cannot unpack ", items.size(), " values into ", target.parts.size(), " variables");
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
    return;
  }
  if (target.attribute.empty()) return set_variable(target.name, value);
  const Value object = evaluate(Name{target.name});
  if (!object.is(Kind::name_space)) {
    fail("cannot assign to an attribute of ", object.type_name(), ", only of a namespace");
  }
  auto& variables = object.as_name_space()->variables;
  for (auto& [name, old_value] : variables) {
    if (name != target.attribute) continue;
    old_value = value;
    return;
  }
  budget_.allocate(sizeof(variables[0]) + target.attribute.size());
  variables.emplace_back(target.attribute, value);
}

Rendering::Flow Rendering::run(const Set& node) {
  assign(node.target, evaluate(*node.value));
  return Flow::next;
}

Rendering::Flow Rendering::run(const SetBlock& node) {
  std::string text = capture(node.body);
  Value value;
  if (node.filter == nullptr) {
    value = Value::string(std::move(text));
  } else {
    const std::string* const before = std::exchange(block_text_, &text);
    value = evaluate(*node.filter);
    block_text_ = before;
  }
  assign(node.target, value);
  return Flow::next;
}

Rendering::Flow Rendering::run(const FilterBlock& node) {
  const std::string text = capture(node.body);
  const std::string* const before = std::exchange(block_text_, &text);
  const Value value = evaluate(*node.filter);
  block_text_ = before;
  write(to_text(budget_, value));
  return Flow::next;
}

Rendering::Flow Rendering::run(const With& node) {
  std::vector<Value> values;
  for (const auto& [target, value] : node.variables) values.push_back(evaluate(*value));
  const Opened opened(*this, scope_);
  for (size_t i = 0; i < values.size(); ++i) assign(node.variables[i].first, values[i]);
  return run_block(node.body);
}

Rendering::Flow Rendering::run(const Plain& node) {
  const Opened opened(*this, scope_);
  return run_block(node.body);
}

Rendering::Flow Rendering::run(const NamedBlock& node) {
  const Opened opened(*this, node.scoped ? scope_ : root_);
  return run_block(node.body);
}

Rendering::Flow Rendering::run(const AutoEscape& node) {
  if (evaluate(*node.value).truth()) {
    fail("autoescape is not supported: a chat template writes text, not HTML");
  }
  const Opened opened(*this, scope_);
  return run_block(node.body);
}

Rendering::Flow Rendering::run(const OtherTemplate& node) {
  fail("'", node.name, "' is not supported: a chat template stands alone");
}

void Rendering::keep_scopes() {
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
  }
}

}  // namespace troupe::text::jinja
