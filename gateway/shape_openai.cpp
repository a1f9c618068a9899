// Replies of /v1/chat/completions and /v1/completions.
#include "gateway/http.hpp"
#include "gateway/shape.hpp"
#include "gateway/text_event.hpp"

namespace troupe::gateway {
namespace {

Json usage_json(const std::vector<actors::GenerateResult>& results, const actors::ModelCard& card) {
  const Usage usage = usage_of(results);
  return {
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.output_tokens},
      {"total_tokens", usage.prompt_tokens + usage.output_tokens},
      {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"audio_tokens", 0}}},
      {"completion_tokens_details",
       {{"reasoning_tokens", reasoning_tokens(results, card)},
        {"audio_tokens", 0},
        {"accepted_prediction_tokens", usage.accepted},
        {"rejected_prediction_tokens", usage.drafted - std::min(usage.drafted, usage.accepted)}}}};
}

/// Log-probabilities of a completion: four lists beside one another.
class CompletionLogprobs {
 public:
  void add(const actors::ModelCard& card, uint32_t top_max, int32_t token, float logprob,
           const std::vector<std::pair<int32_t, float>>& top, size_t offset) {
    json_["tokens"].push_back(token_text(card, token));
    json_["token_logprobs"].push_back(finite(logprob));
    Json others = Json::object();
    for (const auto& [other, value] : top) others[token_text(card, other)] = finite(value);
    json_["top_logprobs"].push_back(top_max == 0 ? Json() : others);
    json_["text_offset"].push_back(offset);
  }
  [[nodiscard]] Json take() { return std::exchange(json_, empty()); }

 private:
  static Json empty() {
    return {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
  }
  Json json_ = empty();
};

/// What both APIs have in common; `is_chat` says which it is.
class OpenAiShape : public Shape {
 public:
  OpenAiShape(const Generation& generation, ReplyFacts facts, bool is_chat)
      : facts_(std::move(facts)),
        is_chat_(is_chat),
        wants_logprobs_(generation.logprobs),
        include_usage_(generation.include_usage),
        top_(generation.top_logprobs),
        choices_(generation.requests.empty() ? 1 : generation.requests[0].choices),
        echoes_(generation.echoes),
        progress_(choices_ * std::max<size_t>(1, generation.requests.size())) {}

  std::string whole(const std::vector<actors::GenerateResult>& results) override {
    Json body = head(false);
    body["choices"] = Json::array();
    for (size_t prompt = 0; prompt < results.size(); ++prompt) {
      for (const actors::ChoiceResult& choice : results[prompt].choices) {
        body["choices"].push_back(whole_choice(prompt, choice));
      }
    }
    body["usage"] = usage_json(results, *facts_.card);
    return text_of(body);
  }

  std::string on_delta(size_t prompt, const actors::ClientDelta& delta) override {
    const size_t index = prompt * choices_ + delta.choice;
    if (index >= progress_.size()) return {};
    Progress& progress = progress_[index];
    if (wants_logprobs_) {
      for (size_t i = 0; i < delta.tokens.size(); ++i) add_logprob(progress, delta, i);
    }
    std::string out;
    if (!std::exchange(progress.has_begun, true)) out += first_chunk(prompt, index);
    const bool is_last = !delta.finish_reason.empty();
    progress.text_bytes += delta.text.size();
    if (!delta.text.empty() || (is_last && progress.has_logprobs)) {
      add_text(out, index, delta.text, progress);
    }
    if (is_last) {
      Json choice = choice_json(index, "", nullptr);
      if (is_chat_) choice["delta"] = Json::object();
      choice["finish_reason"] = delta.finish_reason;
      out += chunk(std::move(choice));
    }
    return out;
  }

  std::string on_end(const std::vector<actors::GenerateResult>& results) override {
    std::string out;
    if (include_usage_) {
      Json body = head(true);
      body["choices"] = Json::array();
      body["usage"] = usage_json(results, *facts_.card);
      out += event("", text_of(body));
    }
    return out + event("", "[DONE]");
  }

  std::string on_error(const ApiError& error) override {
    return event("", body_of(error, Dialect::openai)) + event("", "[DONE]");
  }

  std::string keep_alive() override { return ": still here\n\n"; }

 private:
  struct Progress {
    bool has_begun = false;
    bool has_logprobs = false;
    size_t text_bytes = 0;
    Json chat_logprobs = Json::array();
    CompletionLogprobs logprobs;
    std::optional<TextEvent> plain;  ///< a chunk without logprobs
  };

  Json head(bool is_chunk) const {
    Json body;
    body["id"] = (is_chat_ ? "chatcmpl-" : "cmpl-") + facts_.id;
    body["object"] = !is_chat_  ? "text_completion"
                     : is_chunk ? "chat.completion.chunk"
                                : "chat.completion";
    body["created"] = facts_.created_s;
    body["model"] = facts_.card->name;
    return body;
  }

  Json chunk_json(Json choice) const {
    Json body = head(true);
    body["choices"] = Json::array({std::move(choice)});
    if (include_usage_) body["usage"] = nullptr;
    return body;
  }

  std::string chunk(Json choice) const { return event("", text_of(chunk_json(std::move(choice)))); }

  Json choice_json(size_t index, const std::string& text, Json logprobs) const {
    Json choice = {{"index", index}};
    if (is_chat_) {
      choice["delta"] = {{"content", text}};
    } else {
      choice["text"] = text;
    }
    choice["logprobs"] = std::move(logprobs);
    choice["finish_reason"] = nullptr;
    return choice;
  }

  std::string first_chunk(size_t prompt, size_t index) const {
    if (is_chat_) {
      Json choice = choice_json(index, "", nullptr);
      choice["delta"] = {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}};
      return chunk(std::move(choice));
    }
    return echoes_.empty() ? std::string() : chunk(choice_json(index, echoes_[prompt], nullptr));
  }

  void add_text(std::string& out, size_t index, const std::string& text, Progress& progress) const {
    if (!std::exchange(progress.has_logprobs, false)) {
      if (!progress.plain) {
        progress.plain.emplace("", chunk_json(choice_json(index, TextEvent::place, nullptr)));
      }
      progress.plain->append(out, text);
      return;
    }
    Json logprobs = is_chat_
                        ? Json{{"content", std::exchange(progress.chat_logprobs, Json::array())},
                               {"refusal", nullptr}}
                        : progress.logprobs.take();
    out += chunk(choice_json(index, text, std::move(logprobs)));
  }

  void add_logprob(Progress& progress, const actors::ClientDelta& delta, size_t i) const {
    static const std::vector<std::pair<int32_t, float>> none;
    const auto& top = i < delta.top_logprobs.size() ? delta.top_logprobs[i] : none;
    progress.has_logprobs = true;
    if (is_chat_) {
      progress.chat_logprobs.push_back(
          logprob_json(*facts_.card, delta.tokens[i], delta.logprobs[i], top));
    } else {
      progress.logprobs.add(*facts_.card, top_, delta.tokens[i], delta.logprobs[i], top,
                            progress.text_bytes);
    }
  }

  Json whole_choice(size_t prompt, const actors::ChoiceResult& choice) const {
    Json out = {{"index", prompt * choices_ + choice.choice}};
    if (is_chat_) {
      out["message"] = {{"role", "assistant"},
                        {"content", choice.text},
                        {"refusal", nullptr},
                        {"annotations", Json::array()}};
    } else {
      out["text"] = (echoes_.empty() ? std::string() : echoes_[prompt]) + choice.text;
    }
    out["logprobs"] = wants_logprobs_ ? whole_logprobs(choice) : Json();
    out["finish_reason"] = choice.finish_reason;
    return out;
  }

  Json whole_logprobs(const actors::ChoiceResult& choice) const {
    static const std::vector<std::pair<int32_t, float>> none;
    Json content = Json::array();
    CompletionLogprobs lists;
    size_t offset = 0;
    for (size_t i = 0; i < choice.token_ids.size(); ++i) {
      const auto& top = i < choice.top_logprobs.size() ? choice.top_logprobs[i] : none;
      if (is_chat_) {
        content.push_back(logprob_json(*facts_.card, choice.token_ids[i], choice.logprobs[i], top));
        continue;
      }
      lists.add(*facts_.card, top_, choice.token_ids[i], choice.logprobs[i], top, offset);
      offset += token_text(*facts_.card, choice.token_ids[i]).size();
    }
    return is_chat_ ? Json{{"content", std::move(content)}, {"refusal", nullptr}} : lists.take();
  }

  ReplyFacts facts_;
  bool is_chat_;
  bool wants_logprobs_;
  bool include_usage_;
  uint32_t top_;
  size_t choices_;
  std::vector<std::string> echoes_;
  std::vector<Progress> progress_;
};

}  // namespace

std::unique_ptr<Shape> chat_shape(const Generation& generation, ReplyFacts facts) {
  return std::make_unique<OpenAiShape>(generation, std::move(facts), true);
}

std::unique_ptr<Shape> completion_shape(const Generation& generation, ReplyFacts facts) {
  return std::make_unique<OpenAiShape>(generation, std::move(facts), false);
}

}  // namespace troupe::gateway
