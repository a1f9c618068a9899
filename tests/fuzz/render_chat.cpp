// Hostile messages through real forms of templates: the rendered text is the template's, and no
// message puts a control token into the prompt that the template did not write.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
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
