// How an API writes what was generated: as one object, or as events while it comes. Fed with what
// the cast says; no sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "gateway/generation.hpp"

namespace troupe::gateway {

/// What one reply is made of beside the text. Constant within a reply.
struct ReplyFacts {
  std::string id;         ///< random, 24 hex digits; each API puts its prefix before it
  int64_t created_s = 0;  ///< Unix time
  std::shared_ptr<const actors::ModelCard> card;
};

struct Usage {
  uint64_t prompt_tokens = 0;  ///< of each prompt once, however many choices it has
  uint64_t output_tokens = 0;  ///< of all choices
  uint64_t cached_tokens = 0;
  uint64_t pinned_tokens = 0;  ///< leading ones of the prompt
  uint64_t drafted = 0, accepted = 0;
};
Usage usage_of(const std::vector<actors::GenerateResult>& results);
/// Output tokens up to a "</think>" of the model's own, or all behind a "<think>" that was not
/// closed; 0 for a model without such tokens. The prompt may have opened it.
uint64_t reasoning_tokens(const std::vector<actors::GenerateResult>& results,
                          const actors::ModelCard& card);

/// One reply. The methods return bytes to send; empty: nothing yet.
class Shape {
 public:
  virtual ~Shape() = default;
  /// The whole reply as one JSON object.
  virtual std::string whole(const std::vector<actors::GenerateResult>& results) = 0;
  /// New output of request `prompt` of the generation.
  virtual std::string on_delta(size_t prompt, const actors::ClientDelta& delta) = 0;
  virtual std::string on_end(const std::vector<actors::GenerateResult>& results) = 0;
  /// The stream breaks off.
  virtual std::string on_error(const ApiError& error) = 0;
  /// What a stream says when there is nothing to say.
  virtual std::string keep_alive() = 0;
};

std::unique_ptr<Shape> chat_shape(const Generation& generation, ReplyFacts facts);
std::unique_ptr<Shape> completion_shape(const Generation& generation, ReplyFacts facts);
std::unique_ptr<Shape> messages_shape(const Generation& generation, ReplyFacts facts);
std::unique_ptr<Shape> response_shape(const Generation& generation, ReplyFacts facts);

/// Which of the stop strings ended the output; empty: none. `text` is the output without it.
std::string stop_that_matched(const actors::ChoiceResult& choice, const actors::ModelCard& card,
                              const std::vector<std::string>& stop);

/// One token of a chat's logprobs: {"token", "logprob", "bytes", "top_logprobs"}.
Json logprob_json(const actors::ModelCard& card, int32_t token, float logprob,
                  const std::vector<std::pair<int32_t, float>>& top);
/// The text of a token, broken characters replaced.
std::string token_text(const actors::ModelCard& card, int32_t token);
/// JSON has no infinity: -9999, as OpenAI writes it.
double finite(float logprob);

}  // namespace troupe::gateway
