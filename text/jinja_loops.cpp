// For loops of a rendering.
#include <algorithm>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"

namespace troupe::text::jinja {

std::vector<Value> Rendering::loop_items(const For& node, const Value& from) {
  std::vector<Value> items = iterate(budget_, from);
  if (node.condition == nullptr) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const Opened opened(*this, scope_);
    assign(node.target, item);
    if (evaluate(*node.condition).truth()) kept.push_back(std::move(item));
  }
  return kept;
}

Rendering::Flow Rendering::run(const For& node) {
  if (node.recursive) keep_scopes();
  return run_loop(node, evaluate(*node.items), 0, scope_);
}

Rendering::Flow Rendering::run_loop(const For& node, const Value& from, int level, Scope* around) {
  const auto loop = std::make_shared<LoopState>();
  loop->items = loop_items(node, from);
  loop->level = level;
  if (node.recursive) {
    loop->recursive = &node;
    loop->scope = around;
  }
  for (const Value& item : loop->items) loop->depth = std::max(loop->depth, item.depth() + 1);
  if (loop->items.empty()) {
    const Opened opened(*this, scope_);
    return run_block(node.otherwise);
  }
  const Value loop_value = Value::loop(loop);
  for (size_t i = 0; i < loop->items.size(); ++i) {
    loop->index = i;
    const Opened opened(*this, scope_);
    set_variable("loop", loop_value);
    assign(node.target, loop->items[i]);
    if (run_block(node.body) == Flow::leave_loop) break;
  }
  loop->over = true;
  loop->asked.clear();
  return Flow::next;
}

Value Rendering::call_loop(const LoopState& loop, const Arguments& arguments) {
  const Bound bound("loop", arguments, {"iterable"});
  if (loop.recursive == nullptr) {
    fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  const Nested nested(*this);
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  {
    const Opened opened(*this, loop.scope);
    run_loop(*loop.recursive, bound.need(0), loop.level + 1, loop.scope);
  }
  out_ = before;
  return make_text(budget_, std::move(text));
}

}  // namespace troupe::text::jinja
