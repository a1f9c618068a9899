// Chat templates: Jinja as transformers runs it (sandboxed, immutable; trim_blocks and
// lstrip_blocks; break and continue; tojson, raise_exception, strftime_now).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::text {

using Json = nlohmann::ordered_json;

/// What a template sees. `messages`, `tools`, `documents`, `add_generation_prompt`, `bos_token` and
/// `eos_token` are always defined (none where they are null).
struct RenderInput {
  Json messages = Json::array();  ///< [{"role", "content", ...}]
  Json tools;                     ///< null: none
  Json documents;                 ///< null: none
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  Json variables = Json::object();  ///< further ones, e.g. enable_thinking; they win
  int64_t now_s = 0;                ///< Unix time for strftime_now, shown as UTC
};

/// A parsed template. Immutable, cheap to copy, any number of threads.
class ChatTemplate {
 public:
  /// invalid_argument with the line for a syntax error, too deep nesting, or too long a source.
  static Result<ChatTemplate> parse(std::string_view source);

  /// The prompt. invalid_argument: the template failed on this input or raised its own exception
  /// (its message is in the error); exhausted: a limit of text_limits.hpp.
  [[nodiscard]] Result<std::string> render(const RenderInput& input) const;

 private:
  struct Tree;
  explicit ChatTemplate(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

/// As transformers prepares messages: one that has reasoning_content, thinking or reasoning gets
/// both reasoning_content and thinking.
void copy_reasoning(Json& messages);

}  // namespace troupe::text
