#include "text/chat_prompt.hpp"

#include <algorithm>
#include <utility>

namespace troupe::text {
namespace {

constexpr uint32_t private_use_begin = 0xE000;
constexpr uint32_t private_use_end = 0xF900;

bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

std::string spell(uint32_t code) {
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

/// Calls `visit` with every string inside `json`.
template <class Value, class Visit>
void visit_strings(Value& json, const Visit& visit) {
  if (json.is_string()) {
    visit(json);
  } else if (json.is_structured()) {
    for (auto& item : json) visit_strings(item, visit);
  }
}

/// A character of the private use area that occurs neither in what the template printed nor in what
/// it was given; empty when all of them do.
std::string unused_character(const std::string& rendered, const RenderInput& input) {
  std::string all = rendered;
  const auto add = [&](const Json& text) { all += text.get_ref<const std::string&>(); };
  for (const Json* given : {&input.messages, &input.tools, &input.documents}) {
    visit_strings(*given, add);
  }
  for (uint32_t code = private_use_begin; code < private_use_end; ++code) {
    std::string character = spell(code);
    if (all.find(character) == std::string::npos) return character;
  }
  return {};
}

/// Whether mark() would change a string or a name of a member inside.
bool spells_any(const ControlSpellings& controls, const Json& json) {
  if (json.is_string()) return controls.spells(json.get_ref<const std::string&>());
  for (const auto& [name, value] : json.items()) {
    if (json.is_object() && controls.spells(name)) return true;
    if ((value.is_structured() || value.is_string()) && spells_any(controls, value)) return true;
  }
  return false;
}

/// Marks every string inside, and every name of a member; says whether that changed anything.
bool mark_all(const ControlSpellings& controls, const std::string& marker, Json& json) {
  bool changed = false;
  if (json.is_string()) {
    std::string after = controls.mark(json.get_ref<const std::string&>(), marker);
    changed = after != json.get_ref<const std::string&>();
    if (changed) json = std::move(after);
  } else if (json.is_array()) {
    for (Json& item : json) changed = mark_all(controls, marker, item) || changed;
  } else if (json.is_object()) {
    Json members = Json::object();
    for (auto& [name, value] : json.items()) {
      const std::string marked = controls.mark(name, marker);
      changed = mark_all(controls, marker, value) || marked != name || changed;
      members[marked] = std::move(value);
    }
    json = std::move(members);
  }
  return changed;
}

/// Takes the markers out; the character before each is a plain range.
ChatPrompt without_markers(const std::string& marked, const std::string& marker) {
  ChatPrompt prompt;
  size_t from = 0;
  for (size_t at; (at = marked.find(marker, from)) != std::string::npos;) {
    prompt.text.append(marked, from, at - from);
    from = at + marker.size();
    size_t begin = prompt.text.size();
    while (begin > 0 && continues_character(prompt.text[--begin])) {
    }
    const ByteRange range{begin, prompt.text.size()};
    if (prompt.plain.empty() || prompt.plain.back() != range) prompt.plain.push_back(range);
  }
  prompt.text.append(marked, from);
  return prompt;
}

/// The string at whose end, or in which, a place is; null: there is none.
std::string* text_of(RenderInput& input, const ChatPlace& place) {
  Json& list = place.in_tools ? input.tools : input.messages;
  if (!list.is_array() || place.index >= list.size()) return nullptr;
  Json& entry = list[place.index];
  if (place.content_bytes > 0) {
    if (place.in_tools || !entry.is_object() || !entry.contains("content")) return nullptr;
    return entry["content"].get_ptr<std::string*>();
  }
  std::string* last = nullptr;
  visit_strings(entry, [&](Json& text) { last = text.get_ptr<std::string*>(); });
  return last;
}

bool insert_marker(RenderInput& input, const ChatPlace& place, const std::string& marker) {
  std::string* text = text_of(input, place);
  if (text == nullptr || place.content_bytes > text->size()) return false;
  const size_t at = place.content_bytes > 0 ? place.content_bytes : text->size();
  if (at < text->size() && continues_character((*text)[at])) return false;
  text->insert(at, marker);
  return true;
}

void erase_all(std::string& text, const std::string& piece) {
  for (size_t at = 0; (at = text.find(piece, at)) != std::string::npos;) {
    text.erase(at, piece.size());
  }
}

}  // namespace

ControlSpellings::ControlSpellings(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view bytes = tokenizer.spelling(id);
    if (!tokenizer.is_control(id) || bytes.empty()) continue;
    whole_.add(bytes, id);
    spellings_.emplace_back(bytes);
  }
}

std::set<size_t> ControlSpellings::begins(const std::string& text) const {
  std::set<size_t> begins;
  if (spellings_.empty()) return begins;
  for (size_t at = 0; (at = whole_.next_start(text, at)) < text.size(); ++at) {
    if (whole_.longest_at(text, at).id >= 0) begins.insert(at);
  }
  const std::string_view view = text;
  for (const std::string& spelling : spellings_) {
    for (size_t bytes = 2; bytes < spelling.size() && bytes <= text.size(); ++bytes) {
      const std::string_view head = std::string_view(spelling).substr(0, bytes);
      const std::string_view tail = std::string_view(spelling).substr(spelling.size() - bytes);
      if (view.ends_with(head)) begins.insert(text.size() - bytes);
      if (view.starts_with(tail) && !continues_character(tail[0])) begins.insert(0);
    }
  }
  return begins;
}

std::string ControlSpellings::mark(const std::string& text, const std::string& marker) const {
  std::string marked;
  size_t from = 0;
  for (const size_t begin : begins(text)) {
    size_t end = begin + 1;
    while (end < text.size() && continues_character(text[end])) ++end;
    marked.append(text, from, end - from);
    marked += marker;
    from = end;
  }
  marked.append(text, from);
  return marked;
}

Result<ChatPrompt> render_chat(const ChatTemplate& chat_template, const ControlSpellings& controls,
                               const RenderInput& input) {
  TROUPE_ASSIGN(std::string rendered, chat_template.render(input));
  if (!spells_any(controls, input.messages) && !spells_any(controls, input.tools) &&
      !spells_any(controls, input.documents)) {
    return ChatPrompt{std::move(rendered), {}};
  }
  const std::string marker = unused_character(rendered, input);
  const Error refusal =
      error(Code::invalid_argument,
            "a message spells a control token of the model in a place where the chat template "
            "gives it a meaning",
            "leave the control token out of the message");
  if (marker.empty()) return refusal;
  RenderInput marked = input;
  bool changed = false;
  for (Json* given : {&marked.messages, &marked.tools, &marked.documents}) {
    changed = mark_all(controls, marker, *given) || changed;
  }
  if (!changed) return ChatPrompt{std::move(rendered), {}};
  TROUPE_ASSIGN(const std::string with_markers, chat_template.render(marked));
  ChatPrompt prompt = without_markers(with_markers, marker);
  if (prompt.text != rendered) return refusal;
  return prompt;
}

std::vector<size_t> find_places(const ChatTemplate& chat_template, const RenderInput& input,
                                const std::string& rendered, std::span<const ChatPlace> places) {
  std::vector<size_t> found(places.size(), 0);
  std::vector<std::string> markers(places.size());
  std::string taken = rendered;
  RenderInput marked = input;
  // The last first: places in front of others do not move them.
  for (size_t i = places.size(); i-- > 0;) {
    std::string marker = unused_character(taken, input);
    if (marker.empty() || !insert_marker(marked, places[i], marker)) continue;
    taken += marker;
    markers[i] = std::move(marker);
  }
  const Result<std::string> with_markers = chat_template.render(marked);
  if (!with_markers) return found;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t at = markers[i].empty() ? std::string::npos : with_markers->find(markers[i]);
    if (at == std::string::npos) continue;
    std::string before = with_markers->substr(0, at);
    for (const std::string& marker : markers) {
      if (!marker.empty()) erase_all(before, marker);
    }
    // Shorter where the template does something with the marker, such as not to trim before it.
    const auto end = std::ranges::mismatch(before, rendered).in1;
    found[i] = static_cast<size_t>(end - before.begin());
    while (found[i] > 0 && found[i] < rendered.size() && continues_character(rendered[found[i]])) {
      --found[i];
    }
  }
  return found;
}

}  // namespace troupe::text
