// Hostile messages through real forms of templates: the rendered text is the template's, and no
// message puts a control token into the prompt that the template did not write. Where the fixtures
// lie (TROUPE_FIXTURES, else ../shared/fixtures), their templates get such messages too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "tests/text/small_tokenizer.hpp"
#include "text/chat_prompt.hpp"
#include "text/utf8.hpp"

namespace {

using namespace troupe::text;

constexpr std::string_view sources[] = {
    "{% for m in messages %}<|begin|>{{ m.role }}\n{{ m.content }}<|end|>{% endfor %}",
    "{% for m in messages %}<|begin|>{{ m['content'] | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|begin|>assistant{% endif %}",
    "{% for m in messages %}<|begin|>{% if m.content is string %}{{ m.content.strip() }}"
    "{% else %}{{ m.content | tojson }}{% endif %}<|end|>{% endfor %}",
    "{%- for m in messages -%}{{- '<|begin|>' + m.role + m.content + '<|end|>' -}}"
    "{%- endfor -%}{{ tools | tojson if tools }}"};

std::vector<ChatTemplate> fixture_templates() {
  namespace fs = std::filesystem;
  const char* named = std::getenv("TROUPE_FIXTURES");
  const fs::path folder = fs::path(named != nullptr ? named : "../shared/fixtures") / "templates";
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (entry.path().extension() == ".jinja") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<ChatTemplate> made;
  for (const fs::path& file : files) {
    std::stringstream source;
    source << std::ifstream(file, std::ios::binary).rdbuf();
    made.push_back(*ChatTemplate::parse(source.str()));
  }
  return made;
}

/// The message that a field becomes: its first byte says which form it has.
Json message_of(std::string_view field) {
  constexpr const char* roles[] = {"user", "assistant", "system", "tool", "developer"};
  const uint8_t form = field.empty() ? 0 : static_cast<uint8_t>(field[0]);
  const std::string text = replace_invalid_utf8(field.substr(field.empty() ? 0 : 1));
  Json message = {{"role", roles[form % std::size(roles)]}, {"content", text}};
  const Json parsed = Json::parse(text, nullptr, false);
  const Json value = parsed.is_discarded() ? Json(text) : parsed;
  switch (form / 8 % 8) {
    case 1:
      message["content"] = {{{"type", "text"}, {"text", text}}, {{"type", "image"}}};
      break;
    case 2:
      message["content"] = nullptr;
      message["tool_calls"] = {{{"id", "abcdefghi"},
                                {"type", "function"},
                                {"function", {{"name", "f"}, {"arguments", value}}}}};
      break;
    case 3:
      message["reasoning_content"] = text;
      break;
    case 4:
      message["content"] = value;
      break;
    case 5:
      message.erase("content");
      break;
    default:
      break;
  }
  return message;
}

/// Ends in text, the one that the template alone gives, or in an error that says why.
void render_fixture(const ChatTemplate& chat_template, const ControlSpellings& controls,
                    std::string_view rest) {
  RenderInput input;
  for (int field = 0; !rest.empty() && field < 8; ++field) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    input.messages.push_back(message_of(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (input.messages.size() % 2 == 0) {
    input.tools = {
        {{"type", "function"}, {"function", {{"name", "f"}, {"parameters", input.messages}}}}};
  }
  const auto text = chat_template.render(input);
  if (!text.ok() && text.error().what.empty()) std::abort();
  const auto prompt = render_chat(chat_template, controls, input);
  if (prompt.ok() && (!text.ok() || prompt->text != *text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const auto tokenizer = *Tokenizer::make(small_spec());
  static const ControlSpellings controls(*tokenizer);
  static const std::vector<ChatTemplate> templates = [] {
    std::vector<ChatTemplate> made;
    for (const std::string_view source : sources) made.push_back(*ChatTemplate::parse(source));
    return made;
  }();
  static const std::vector<ChatTemplate> fixtures = fixture_templates();
  if (data[0] >= 64 && !fixtures.empty()) {
    const std::string_view fields(reinterpret_cast<const char*>(data) + 1, size - 1);
    render_fixture(fixtures[(data[0] - 64u) % fixtures.size()], controls, fields);
    return 0;
  }
  // Fields are separated by zero bytes; they become roles and contents in turn.
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  RenderInput input;
  for (int field = 0; !rest.empty() && field < 8; ++field) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    std::string text = replace_invalid_utf8(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (field % 2 == 0) {
      input.messages.push_back({{"role", text}, {"content", ""}});
    } else {
      input.messages.back()["content"] = text;
    }
  }
  const ChatTemplate& chat_template = templates[data[0] % templates.size()];
  const auto prompt = render_chat(chat_template, controls, input);
  if (!prompt.ok()) return 0;
  if (prompt->text != *chat_template.render(input)) std::abort();
  const auto ids = tokenizer->encode(prompt->text, {.parse_special = true, .plain = prompt->plain});
  if (!ids.ok() || *tokenizer->decode(*ids) != prompt->text) std::abort();
  // The template writes one <|begin|> a message, and at most one more.
  const auto begins =
      static_cast<size_t>(std::count(ids->begin(), ids->end(), *tokenizer->id_of("<|begin|>")));
  if (begins < input.messages.size() || begins > input.messages.size() + 1) std::abort();
  return 0;
}
