// Macros of a rendering: definitions, calls, call blocks.
#include <algorithm>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"

namespace troupe::text::jinja {

Macro* Rendering::make_macro(const MacroDefinition& definition) {
  budget_.allocate(sizeof(Macro) + sizeof(Scope));
  keep_scopes();
  return &macros_.emplace_back(Macro{&definition, scope_});
}

Rendering::Flow Rendering::run(const MacroDefinition& node) {
  set_variable(node.name, Value::macro(make_macro(node)));
  return Flow::next;
}

Rendering::Flow Rendering::run(const CallBlock& node) {
  const Call& called = std::get<Call>(node.call->node);
  const Value callee = evaluate(*called.callee);
  Arguments arguments = evaluate(called.arguments);
  arguments.named.emplace_back("caller", Value::macro(make_macro(node.caller)));
  write(to_text(budget_, call(callee, arguments)));
  return Flow::next;
}

namespace {

/// The index of the parameter of this name, or the number of parameters.
size_t parameter_index(const MacroDefinition& definition, std::string_view name) {
  const auto& all = definition.parameters;
  const auto is_it = [&](const Parameter& parameter) { return parameter.name == name; };
  return static_cast<size_t>(std::find_if(all.begin(), all.end(), is_it) - all.begin());
}

/// Named arguments that are no parameters: kwargs of the macro, or an error.
Pairs further_named(Budget& budget, const MacroDefinition& definition, const Arguments& arguments) {
  Pairs pairs;
  for (const auto& [name, value] : arguments.named) {
    const size_t i = parameter_index(definition, name);
    const bool is_parameter = i < definition.parameters.size();
    if (is_parameter && i >= arguments.positional.size()) continue;
    if (name == "caller" && definition.uses_caller && !is_parameter) continue;
    if (definition.uses_kwargs) {
      set_key(budget, pairs, Value::string(name), value);
    } else if (name == "caller") {
      fail("macro '", definition.name, "' does not use caller, but it was given one");
    } else if (is_parameter) {
      fail("macro '", definition.name, "' got '", name, "' twice");
    } else {
      fail("macro '", definition.name, "' takes no keyword argument '", name, "'");
    }
  }
  return pairs;
}

const Value* named_argument(const Arguments& arguments, std::string_view name) {
  const auto is_it = [&](const auto& named) { return named.first == name; };
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(), is_it);
  return found == arguments.named.end() ? nullptr : &found->second;
}

}  // namespace

void Rendering::bind_further(const MacroDefinition& definition, const Arguments& arguments) {
  const size_t count = definition.parameters.size();
  if (definition.uses_caller && parameter_index(definition, "caller") == count) {
    const Value* caller = named_argument(arguments, "caller");
    set_variable("caller", caller != nullptr ? *caller : Value::undefined("No caller defined"));
  }
  Pairs named = further_named(budget_, definition, arguments);
  if (definition.uses_kwargs) set_variable("kwargs", Value::dict(std::move(named)));
  if (definition.uses_varargs) {
    std::vector<Value> more;
    for (size_t i = count; i < arguments.positional.size(); ++i) {
      more.push_back(arguments.positional[i]);
    }
    budget_.allocate(more.size() * sizeof(Value));
    set_variable("varargs", Value::sequence(std::move(more), Flavour::tuple));
  } else if (arguments.positional.size() > count) {
    fail("macro '", definition.name, "' takes not more than ", count, " argument(s), ",
         arguments.positional.size(), " given");
  }
}

void Rendering::bind_parameters(const Macro& macro, const Arguments& arguments) {
  const MacroDefinition& definition = *macro.definition;
  bind_further(definition, arguments);
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const Parameter& parameter = definition.parameters[i];
    const Value* named = named_argument(arguments, parameter.name);
    Value value;
    if (i < arguments.positional.size())
      value = arguments.positional[i];
    else if (named != nullptr)
      value = *named;
    else if (parameter.fallback != nullptr)
      value = evaluate(*parameter.fallback);
    else
      value = Value::undefined(concat("parameter '", parameter.name, "' was not provided"));
    set_variable(parameter.name, std::move(value));
  }
}

Value macro_attribute(Budget& budget, const Macro& macro, const Value& self,
                      const std::string& name) {
  const MacroDefinition& definition = *macro.definition;
  if (name == "name") return make_text(budget, definition.name);
  if (name == "caller") return Value::boolean(definition.uses_caller);
  if (name == "catch_kwargs") return Value::boolean(definition.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition.uses_varargs);
  if (name != "arguments") {
    return Value::undefined(
        concat("'", self.type_name(), " object' has no attribute '", name, "'"));
  }
  std::vector<Value> names;
  for (const Parameter& parameter : definition.parameters) {
    names.push_back(make_text(budget, parameter.name));
  }
  return Value::sequence(std::move(names), Flavour::tuple);
}

Value Rendering::call_macro(const Macro& macro, const Arguments& arguments) {
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  {
    const Opened opened(*this, macro.scope);
    bind_parameters(macro, arguments);
    run_block(macro.definition->body);
  }
  out_ = before;
  return make_text(budget_, std::move(text));
}

}  // namespace troupe::text::jinja
