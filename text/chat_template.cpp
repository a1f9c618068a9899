#include "text/chat_template.hpp"

#include "base/concat.hpp"
#include "text/jinja_operations.hpp"
#include "text/jinja_parser.hpp"
#include "text/jinja_rendering.hpp"
#include "text/text_limits.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

struct ChatTemplate::Tree {
  jinja::Block block;
};

namespace {

using jinja::Value;

Value to_value(jinja::Budget& budget, const Json& json, int depth) {
  if (depth > limits::template_source_depth_max) {
    jinja::fail("the input is nested more than ", limits::template_source_depth_max, " deep");
  }
  budget.work();
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned: {
      const uint64_t number = json.get<uint64_t>();
      if (number > INT64_MAX) return Value::real(static_cast<double>(number));
      return Value::integer(static_cast<int64_t>(number));
    }
    case Json::value_t::number_float:
      return Value::real(json.get<double>());
    case Json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      if (first_invalid_utf8(text)) jinja::fail("a string of the input is not valid UTF-8");
      return jinja::make_text(budget, text);
    }
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(to_value(budget, item, depth + 1));
      budget.allocate(items.size() * sizeof(Value));
      return Value::sequence(std::move(items));
    }
    case Json::value_t::object: {
      jinja::Pairs pairs;
      for (const auto& [key, item] : json.items()) {
        if (first_invalid_utf8(key)) jinja::fail("a key of the input is not valid UTF-8");
        pairs.emplace_back(jinja::make_text(budget, key), to_value(budget, item, depth + 1));
      }
      budget.allocate(pairs.size() * sizeof(pairs[0]));
      return Value::dict(std::move(pairs));
    }
    default:
      return Value::none();
  }
}

std::vector<std::pair<std::string, Value>> variables_of(jinja::Budget& budget,
                                                        const RenderInput& input) {
  std::vector<std::pair<std::string, Value>> variables;
  const auto set = [&](const std::string& name, Value value) {
    for (auto& [old_name, old_value] : variables) {
      if (old_name != name) continue;
      old_value = std::move(value);
      return;
    }
    variables.emplace_back(name, std::move(value));
  };
  Json messages = input.messages;
  copy_reasoning(messages);
  set("messages", to_value(budget, messages, 0));
  set("tools", to_value(budget, input.tools, 0));
  set("documents", to_value(budget, input.documents, 0));
  set("add_generation_prompt", Value::boolean(input.add_generation_prompt));
  set("bos_token", to_value(budget, Json(input.bos_token), 0));
  set("eos_token", to_value(budget, Json(input.eos_token), 0));
  if (!input.variables.is_object()) return variables;
  for (const auto& [name, value] : input.variables.items()) {
    set(name, to_value(budget, value, 0));
  }
  return variables;
}

Error to_error(const jinja::Failure& failure) {
  const std::string where = failure.line > 0 ? concat("line ", failure.line, ": ") : "";
  return error(failure.code, concat("chat template: ", where, failure.what));
}

}  // namespace

void copy_reasoning(Json& messages) {
  if (!messages.is_array()) return;
  for (Json& message : messages) {
    if (!message.is_object()) continue;
    for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
      const auto found = message.find(key);
      if (found == message.end() || found->is_null()) continue;
      const Json reasoning = *found;
      for (const char* name : {"reasoning_content", "thinking"}) {
        if (!message.contains(name)) message[name] = reasoning;
      }
      break;
    }
  }
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > limits::template_bytes_max) {
    return error(Code::invalid_argument, concat("the chat template has ", source.size(), " bytes"),
                 concat("at most ", limits::template_bytes_max));
  }
  TROUPE_TRY(check_utf8(source, "the chat template"));
  try {
    return ChatTemplate(std::make_shared<const Tree>(Tree{jinja::parse(source)}));
  } catch (const jinja::Failure& failure) {
    return to_error(failure);
  }
}

Result<std::string> ChatTemplate::render(const RenderInput& input) const {
  try {
    jinja::Rendering rendering(input.now_s);
    const auto variables = variables_of(rendering.budget(), input);
    return rendering.run(tree_->block, variables);
  } catch (const jinja::Failure& failure) {
    return to_error(failure);
  } catch (const Json::exception& failure) {
    return error(Code::invalid_argument, concat("chat template input: ", failure.what()));
  }
}

}  // namespace troupe::text
