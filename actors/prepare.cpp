#include "actors/prepare.hpp"

#include <cstring>
#include <ctime>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "engine/sampling.hpp"
#include "schemas/convert.hpp"
#include "text/stop_matcher.hpp"
#include "text/utf8.hpp"

namespace troupe::actors {

Result<std::unique_ptr<Preparer>> Preparer::make(const model::Model& model, uint32_t context_max,
                                                 std::string model_name, RequestLimits limits) {
  std::unique_ptr<Preparer> preparer(new Preparer);
  preparer->limits_ = limits;
  preparer->context_max_ = context_max == 0 ? model.config.context_max : context_max;
  preparer->vocab_size_ = model.config.vocab_size;
  preparer->model_name_ = std::move(model_name);
  const text::TokenizerSpec& spec = model.tokenizer;
  if (spec.tokens.empty()) return preparer;
  TROUPE_ASSIGN(preparer->tokenizer_, text::Tokenizer::make(spec));
  preparer->controls_.emplace(*preparer->tokenizer_);
  const auto text_of = [&spec](int32_t id) {
    return id >= 0 ? spec.tokens[static_cast<size_t>(id)] : std::string();
  };
  preparer->bos_text_ = text_of(spec.bos_id);
  preparer->eos_text_ = text_of(spec.eos_id);
  if (!spec.chat_template.empty()) {
    TROUPE_ASSIGN(preparer->template_, text::ChatTemplate::parse(spec.chat_template));
  }
  return preparer;
}

void Preparer::set_fingerprint(const std::string& fingerprint, uint32_t tokens_per_block) {
  fingerprint_ = fingerprint;
  tokens_per_block_ = tokens_per_block;
}

v1::PreparedRequest Preparer::prepare(const v1::PrepareRequest& request,
                                      uint64_t random_seed) const {
  auto prepared = try_prepare(request, random_seed);
  if (prepared) return std::move(*prepared);
  v1::PreparedRequest refused;
  refused.set_request_id(request.request_id());
  *refused.mutable_failure() = schemas::to_wire(prepared.error());
  return refused;
}

Result<text::ChatPrompt> Preparer::render(const v1::PrepareRequest& request) const {
  if (!template_) {
    return error(Code::invalid_argument, "the model has no chat template",
                 "send text instead of messages");
  }
  text::RenderInput input;
  for (const v1::ChatMessage& message : request.messages()) {
    input.messages.push_back({{"role", message.role()}, {"content", message.content()}});
  }
  input.bos_token = bos_text_;
  input.eos_token = eos_text_;
  input.now_s = static_cast<int64_t>(std::time(nullptr));
  return text::render_chat(*template_, *controls_, input);
}

Result<std::vector<int32_t>> Preparer::tokens_of(const v1::PrepareRequest& request) const {
  const int given = (request.has_text() ? 1 : 0) + (request.messages_size() > 0 ? 1 : 0) +
                    (request.token_ids_size() > 0 ? 1 : 0);
  if (given != 1) {
    return error(Code::invalid_argument,
                 given == 0 ? "the request has no prompt" : "the request has several prompts",
                 "exactly one of text, messages and token_ids");
  }
  if (request.token_ids_size() > 0) {
    return std::vector<int32_t>(request.token_ids().begin(), request.token_ids().end());
  }
  if (!tokenizer_) {
    return error(Code::unsupported, "the model file has no tokenizer", "send token ids");
  }
  text::EncodeOptions options;
  options.add_special = true;
  options.parse_special = request.parse_special();
  if (request.has_text()) return tokenizer_->encode(request.text(), options);
  for (int i = 0; i < request.messages_size(); ++i) {
    if (const auto at = text::first_invalid_utf8(request.messages(i).content())) {
      return error(Code::invalid_argument,
                   concat("messages[", i, "].content is not valid UTF-8 at byte ", *at),
                   "text in UTF-8");
    }
  }
  TROUPE_ASSIGN(const text::ChatPrompt prompt, render(request));
  // The template spells control tokens, BOS included; what a message spells stays text.
  options.parse_special = true;
  options.add_special = false;
  options.plain = prompt.plain;
  return tokenizer_->encode(prompt.text, options);
}

Result<v1::PreparedRequest> Preparer::try_prepare(const v1::PrepareRequest& request,
                                                  uint64_t random_seed) const {
  if (!request.model().empty() && request.model() != model_name_) {
    return error(Code::not_found, concat("no model \"", request.model(), "\" is served here"),
                 concat("this cluster serves \"", model_name_, "\""));
  }
  if (request.choices() == 0 || request.choices() > engine::limits::choices_max) {
    return error(Code::invalid_argument, concat("n is ", request.choices()),
                 concat("1 to ", engine::limits::choices_max));
  }
  TROUPE_TRY(text::check_stop_strings({request.stop().begin(), request.stop().end()}));
  TROUPE_ASSIGN(engine::SamplingParams sampling, schemas::from_wire(request.sampling()));
  TROUPE_TRY(engine::validate(sampling, vocab_size_));
  if (sampling.max_tokens > limits_.output_tokens_max) {
    return error(Code::invalid_argument, concat("max_tokens is ", sampling.max_tokens),
                 concat("this cluster allows 1 to ", limits_.output_tokens_max,
                        " (limits.output_tokens_max of its manifest)"));
  }
  TROUPE_ASSIGN(std::vector<int32_t> tokens, tokens_of(request));
  if (tokens.empty()) {
    return error(Code::invalid_argument, "the prompt is empty", "at least one token");
  }
  if (tokens.size() >= context_max_) {
    return error(
        Code::invalid_argument,
        concat("the prompt has ", tokens.size(), " tokens, the context holds ", context_max_),
        concat("at most ", context_max_ - 1, " prompt tokens"));
  }
  for (int32_t token : tokens) {
    if (token >= 0 && static_cast<uint32_t>(token) < vocab_size_) continue;
    return error(Code::invalid_argument, concat("token id ", token, " is not in the vocabulary"),
                 concat("0 to ", vocab_size_ - 1));
  }
  if (!request.has_seed()) sampling.seed = random_seed;
  if (tokenizer_) {
    sampling.stop_ids.insert(sampling.stop_ids.end(), tokenizer_->stop_ids().begin(),
                             tokenizer_->stop_ids().end());
  }
  v1::PreparedRequest prepared;
  prepared.set_request_id(request.request_id());
  prepared.mutable_prompt()->Add(tokens.begin(), tokens.end());
  *prepared.mutable_sampling() = schemas::to_wire(sampling);
  prepared.set_context_max(context_max_);
  prepared.set_timeout_ms(static_cast<uint64_t>(limits_.timeout_ms));
  name_blocks(prepared);
  return prepared;
}

void Preparer::name_blocks(v1::PreparedRequest& prepared) const {
  Digest fingerprint{};
  if (fingerprint_.size() != fingerprint.size() || tokens_per_block_ == 0) return;
  std::memcpy(fingerprint.data(), fingerprint_.data(), fingerprint.size());
  const kv::BlockName root = kv::root_name(fingerprint, "");
  const std::vector<int32_t> tokens(prepared.prompt().begin(), prepared.prompt().end());
  prepared.set_root(schemas::pack_name(root));
  prepared.set_names(schemas::pack_names(kv::block_names(root, tokens, tokens_per_block_)));
  prepared.set_kv_fingerprint(fingerprint_);
  prepared.set_tokens_per_block(tokens_per_block_);
}

uint64_t prompt_hash(const v1::PreparedRequest& prepared, uint64_t salt) {
  Sha256 hash;
  hash.update_u64(salt);
  // The last name stands for all full blocks.
  const size_t named = prepared.names().size() / sizeof(kv::BlockName);
  if (named > 0) {
    hash.update(std::string_view(prepared.names()).substr((named - 1) * sizeof(kv::BlockName)));
  }
  for (size_t i = named * prepared.tokens_per_block(); i < size_t(prepared.prompt_size()); ++i) {
    hash.update_u64(static_cast<uint64_t>(prepared.prompt(static_cast<int>(i))));
  }
  const Digest digest = hash.finish();
  uint64_t first = 0;
  for (size_t i = 0; i < sizeof first; ++i) first = first << 8 | digest[i];
  return first;
}

}  // namespace troupe::actors
