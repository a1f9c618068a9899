// POST /v1/completions: the body as one generation a prompt.
#include "engine/sampling.hpp"
#include "gateway/chat_messages.hpp"
#include "gateway/generation.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

struct Prompt {
  std::optional<std::string> text;
  std::vector<int32_t> token_ids;
};

bool read_ids(Fields& fields, const Json& ids, const actors::ModelCard& card, Prompt& prompt) {
  for (const Json& id : ids) {
    const bool is_id = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                       id.get<int64_t>() < int64_t{card.vocab_size};
    if (!is_id) {
      fields.refuse("prompt", concat("has ", text_of(id), ", expected token ids from 0 to ",
                                     card.vocab_size - 1));
      return false;
    }
    prompt.token_ids.push_back(id.get<int32_t>());
  }
  return true;
}

/// A string, token ids, or an array of either.
std::vector<Prompt> read_prompts(Fields& fields, const actors::ModelCard& card) {
  std::vector<Prompt> prompts;
  const Json* value = fields.find("prompt");
  if (value == nullptr) {
    fields.refuse("prompt", "is missing, expected a string or token ids",
                  "missing_required_parameter");
    return prompts;
  }
  const auto add = [&](const Json& entry) {
    Prompt prompt;
    if (entry.is_string()) {
      prompt.text = entry.get<std::string>();
    } else if (entry.is_array() && !entry.empty()) {
      if (!read_ids(fields, entry, card, prompt)) return;
    } else {
      fields.refuse("prompt", "has " + kind_of(entry) + ", expected strings or arrays of token ids",
                    "invalid_type");
      return;
    }
    prompts.push_back(std::move(prompt));
  };
  const bool is_list = value->is_array() && !value->empty() && !(*value)[0].is_number();
  if (!is_list) {
    add(*value);
    return prompts;
  }
  if (value->size() > limits::prompts_max) {
    fields.refuse("prompt", concat("has ", value->size(), " prompts, expected at most ",
                                   limits::prompts_max));
    return prompts;
  }
  for (const Json& entry : *value) add(entry);
  return prompts;
}

std::string text_of_ids(const std::vector<int32_t>& ids, const actors::ModelCard& card) {
  std::string text;
  for (const int32_t id : ids) text += card.token_bytes[static_cast<size_t>(id)];
  return text;
}

void refuse_unknown_ways(Fields& fields, const actors::GenerateRequest& request, bool echo,
                         bool logprobs) {
  if (fields.find("suffix") != nullptr && *fields.find("suffix") != "") {
    fields.refuse("suffix", "is not supported: the model writes what follows, not what is between",
                  "unsupported_parameter");
  }
  uint32_t best_of = request.choices;
  fields.whole("best_of", 1, engine::limits::choices_max, best_of);
  if (best_of != request.choices) {
    fields.refuse(
        "best_of",
        concat("is ", best_of, " and n is ", request.choices, ", expected both to be equal"),
        "unsupported_value");
  }
  if (echo && logprobs) {
    fields.refuse("echo", "with logprobs is not supported: the prompt has none here",
                  "unsupported_value");
  }
}

}  // namespace

std::optional<ApiError> parse_completion(const Json& body, const actors::ModelCard& card,
                                         Generation& out) {
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  read_model(fields, card, out.model, error);
  std::vector<Prompt> prompts;
  if (!error) prompts = read_prompts(fields, card);
  read_stream(fields, error, out);
  actors::GenerateRequest request;
  read_sampling(fields, card, request);
  request.sampling.max_tokens = std::min(16u, output_max(card));  // as the API has it
  fields.whole("max_tokens", 1, card.output_tokens_max, request.sampling.max_tokens);
  fields.whole("min_tokens", 0, request.sampling.max_tokens, request.sampling.min_tokens);
  out.logprobs = fields.whole("logprobs", 0, engine::limits::top_logprobs_max, out.top_logprobs);
  request.sampling.top_logprobs = out.top_logprobs;
  bool echo = false;
  fields.flag("echo", echo);
  refuse_unknown_ways(fields, request, echo, out.logprobs);
  std::string user;
  fields.text("user", user);
  if (error) return error;
  out.stop = request.stop;
  out.unknown = fields.unknown();
  for (Prompt& prompt : prompts) {
    if (echo) {
      out.echoes.push_back(prompt.text ? *prompt.text : text_of_ids(prompt.token_ids, card));
    }
    actors::GenerateRequest one = request;
    one.text = std::move(prompt.text);
    one.token_ids = std::move(prompt.token_ids);
    out.requests.push_back(std::move(one));
  }
  return std::nullopt;
}

}  // namespace troupe::gateway
