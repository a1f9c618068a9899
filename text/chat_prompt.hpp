// A chat as a prompt: rendered by the model's template, with what the messages spell kept apart
// from what the template spells. Markup that a user writes into a message stays text.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

namespace troupe::text {

struct ChatPrompt {
  std::string text;              ///< exactly what the template renders
  std::vector<ByteRange> plain;  ///< for EncodeOptions::plain: where messages spell control tokens
};

/// Finds control tokens that are spelled out in text. Immutable.
class ControlSpellings {
 public:
  explicit ControlSpellings(const Tokenizer& tokenizer);

  /// `text` with `marker` after the first character of every control token that it spells, also of
  /// one that it begins or ends with two or more characters of (what stands beside it might
  /// complete it).
  [[nodiscard]] std::string mark(const std::string& text, const std::string& marker) const;
  /// Whether that would differ from `text`.
  [[nodiscard]] bool spells(const std::string& text) const { return !begins(text).empty(); }

 private:
  /// Where the control tokens begin.
  [[nodiscard]] std::set<size_t> begins(const std::string& text) const;

  TokenTrie whole_;
  std::vector<std::string> spellings_;
};

/// Renders the messages; what tools and documents spell stays text too. Errors: those of render();
/// invalid_argument when a message spells a control token and the template would use that text for
/// more than printing it.
Result<ChatPrompt> render_chat(const ChatTemplate& chat_template, const ControlSpellings& controls,
                               const RenderInput& input);

/// A place in a conversation.
struct ChatPlace {
  bool in_tools = false;     ///< in the tool of this index, not in the message
  size_t index = 0;          ///< of the message or tool
  size_t content_bytes = 0;  ///< behind so many bytes of the message's content; 0: behind the last
                             ///< string of the message or tool
};

/// Of each place, how many bytes of `rendered`, which is what the template makes of `input`, are
/// certain to stand before it; 0 where there is no such place, or the template shows none. The work
/// is that of one more rendering.
std::vector<size_t> find_places(const ChatTemplate& chat_template, const RenderInput& input,
                                const std::string& rendered, std::span<const ChatPlace> places);

}  // namespace troupe::text
