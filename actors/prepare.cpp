#include "actors/prepare.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "actors/cache_pins.hpp"
#include "actors/context_error.hpp"
#include "actors/limits.hpp"
#include "actors/tenant_salt.hpp"
#include "base/concat.hpp"
#include "engine/sampling.hpp"
#include "schemas/convert.hpp"
#include "text/json_text.hpp"
#include "text/stop_matcher.hpp"
#include "text/utf8.hpp"

namespace troupe::actors {
namespace {

Status read_chat(const std::string& chat_json, text::RenderInput& input) {
  text::Json chat;
  try {
    chat = text::parse_json(chat_json);
  } catch (const text::Json::exception&) {
  }
  if (!chat.is_object() || !chat.contains("messages") || !chat["messages"].is_array()) {
    return error(Code::invalid_argument, "chat_json is no object with an array of messages");
  }
  input.messages = std::move(chat["messages"]);
  if (chat.contains("tools")) input.tools = std::move(chat["tools"]);
  if (chat.contains("variables") && chat["variables"].is_object()) {
    input.variables = std::move(chat["variables"]);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Preparer>> Preparer::make(const model::Model& model, uint32_t context_max,
                                                 std::string model_name, RequestLimits limits,
                                                 std::shared_ptr<const text::Tokenizer> tokenizer) {
  std::unique_ptr<Preparer> preparer(new Preparer);
  preparer->limits_ = limits;
  preparer->context_max_ = context_max == 0 ? model.config.context_max : context_max;
  preparer->vocab_size_ = model.config.vocab_size;
  preparer->model_name_ = std::move(model_name);
  const text::TokenizerSpec& spec = model.tokenizer;
  if (spec.tokens.empty()) return preparer;
  if (!tokenizer) {
    TROUPE_ASSIGN(tokenizer, text::Tokenizer::make(spec));
  }
  preparer->tokenizer_ = std::move(tokenizer);
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
  auto prepared = request.purpose() == v1::PREPARE_PURPOSE_GENERATE
                      ? try_prepare(request, random_seed)
                      : answer(request);
  if (prepared) return std::move(*prepared);
  Error failure = std::move(prepared).error();
  // A text or a conversation that asks too much of a tokenizer or a template always will: nobody
  // should try it again, as with a machine that is busy.
  if (failure.code == Code::exhausted) failure.code = Code::invalid_argument;
  v1::PreparedRequest refused;
  refused.set_request_id(request.request_id());
  *refused.mutable_failure() = schemas::to_wire(failure);
  return refused;
}

Result<text::RenderInput> Preparer::conversation(const v1::PrepareRequest& request) const {
  if (!template_) {
    return error(Code::invalid_argument, "the model has no chat template",
                 "send text instead of messages");
  }
  text::RenderInput input;
  for (const v1::ChatMessage& message : request.messages()) {
    input.messages.push_back({{"role", message.role()}, {"content", message.content()}});
  }
  if (!request.chat_json().empty()) TROUPE_TRY(read_chat(request.chat_json(), input));
  input.bos_token = bos_text_;
  input.eos_token = eos_text_;
  input.now_s = static_cast<int64_t>(std::time(nullptr));
  return input;
}

Result<Preparer::Prompt> Preparer::prompt_of(const v1::PrepareRequest& request) const {
  const int given = (request.has_text() ? 1 : 0) + (request.messages_size() > 0 ? 1 : 0) +
                    (request.token_ids_size() > 0 ? 1 : 0) + (request.chat_json().empty() ? 0 : 1);
  if (given != 1) {
    return error(Code::invalid_argument,
                 given == 0 ? "the request has no prompt" : "the request has several prompts",
                 "exactly one of text, messages, chat_json and token_ids");
  }
  if (request.token_ids_size() > 0) {
    return Prompt{{request.token_ids().begin(), request.token_ids().end()}, {}};
  }
  if (!tokenizer_) {
    return error(Code::unsupported, "the model file has no tokenizer", "send token ids");
  }
  text::EncodeOptions options;
  options.add_special = !request.without_special();
  options.parse_special = request.parse_special();
  options.memo = memo_.get();
  options.memo_scope = request.tenant();
  Prompt out;
  if (request.has_text()) {
    TROUPE_ASSIGN(out.tokens, tokenizer_->encode(request.text(), options));
    return out;
  }
  for (int i = 0; i < request.messages_size(); ++i) {
    if (const auto at = text::first_invalid_utf8(request.messages(i).content())) {
      return error(Code::invalid_argument,
                   concat("messages[", i, "].content is not valid UTF-8 at byte ", *at),
                   "text in UTF-8");
    }
  }
  TROUPE_ASSIGN(const text::RenderInput input, conversation(request));
  TROUPE_ASSIGN(const text::ChatPrompt prompt, text::render_chat(*template_, *controls_, input));
  // The template spells control tokens, BOS included; what a message spells stays text.
  options.parse_special = true;
  options.add_special = false;
  options.plain = prompt.plain;
  TROUPE_ASSIGN(out.tokens, tokenizer_->encode(prompt.text, options));
  if (request.cache_marks_size() > 0) {
    const std::vector<text::ChatPlace> places = places_of(request.cache_marks());
    const auto bytes = text::find_places(*template_, input, prompt.text, places);
    out.pins =
        cache_pins(request.cache_marks(), bytes, {*tokenizer_, options, prompt.text, out.tokens});
  }
  return out;
}

Status Preparer::check_model(const v1::PrepareRequest& request) const {
  if (request.model().empty() || request.model() == model_name_) return {};
  return error(Code::not_found, concat("no model \"", request.model(), "\" is served here"),
               concat("this cluster serves \"", model_name_, "\""));
}

Status Preparer::check_prompt(const std::vector<int32_t>& tokens) const {
  if (tokens.empty()) {
    return error(Code::invalid_argument, "the prompt is empty", "at least one token");
  }
  if (tokens.size() >= context_max_) return context_exceeded(tokens.size(), context_max_);
  // A negative one is among the largest; one look at all of them, then at each.
  uint32_t largest = 0;
  for (int32_t token : tokens) largest = std::max(largest, static_cast<uint32_t>(token));
  for (int32_t token : tokens) {
    if (largest < vocab_size_) break;
    if (token >= 0 && static_cast<uint32_t>(token) < vocab_size_) continue;
    return error(Code::invalid_argument, concat("token id ", token, " is not in the vocabulary"),
                 concat("0 to ", vocab_size_ - 1));
  }
  return {};
}

v1::ModelCard Preparer::card() const {
  v1::ModelCard card;
  card.set_name(model_name_);
  card.set_context_max(context_max_);
  card.set_vocab_size(vocab_size_);
  card.set_output_tokens_max(limits_.output_tokens_max);
  card.set_has_chat_template(template_.has_value());
  for (int32_t id = 0; tokenizer_ && id < tokenizer_->size(); ++id) {
    const std::string_view bytes = tokenizer_->token_bytes(id);
    card.mutable_token_bytes()->append(bytes);
    card.add_token_lengths(static_cast<uint32_t>(bytes.size()));
    if (tokenizer_->is_control(id)) card.add_control_tokens(id);
  }
  return card;
}

Result<v1::PreparedRequest> Preparer::answer(const v1::PrepareRequest& request) const {
  v1::PreparedRequest answer;
  answer.set_request_id(request.request_id());
  if (request.purpose() == v1::PREPARE_PURPOSE_CARD) {
    *answer.mutable_card() = card();
    return answer;
  }
  TROUPE_TRY(check_model(request));
  if (request.purpose() == v1::PREPARE_PURPOSE_TEXT) {
    if (!tokenizer_) return error(Code::unsupported, "the model file has no tokenizer");
    const std::vector<int32_t> ids(request.token_ids().begin(), request.token_ids().end());
    TROUPE_ASSIGN(*answer.mutable_text(), tokenizer_->decode_text(ids));
    return answer;
  }
  if (request.purpose() != v1::PREPARE_PURPOSE_TOKENS) {
    return error(Code::unsupported, concat("a question of kind ", int{request.purpose()}));
  }
  TROUPE_ASSIGN(const Prompt prompt, prompt_of(request));
  answer.mutable_prompt()->Add(prompt.tokens.begin(), prompt.tokens.end());
  return answer;
}

Result<v1::PreparedRequest> Preparer::try_prepare(const v1::PrepareRequest& request,
                                                  uint64_t random_seed) const {
  TROUPE_TRY(check_model(request));
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
  TROUPE_ASSIGN(const Prompt prompt, prompt_of(request));
  TROUPE_TRY(check_prompt(prompt.tokens));
  if (!request.has_seed()) sampling.seed = random_seed;
  if (tokenizer_) {
    sampling.stop_ids.insert(sampling.stop_ids.end(), tokenizer_->stop_ids().begin(),
                             tokenizer_->stop_ids().end());
  }
  v1::PreparedRequest prepared;
  prepared.set_request_id(request.request_id());
  prepared.mutable_prompt()->Add(prompt.tokens.begin(), prompt.tokens.end());
  for (const v1::CachePin& pin : prompt.pins) *prepared.add_cache_pins() = pin;
  *prepared.mutable_sampling() = schemas::to_wire(sampling);
  prepared.set_context_max(context_max_);
  prepared.set_timeout_ms(static_cast<uint64_t>(limits_.timeout_ms));
  name_blocks(prepared, request.tenant());
  return prepared;
}

void Preparer::name_blocks(v1::PreparedRequest& prepared, const std::string& tenant) const {
  Digest fingerprint{};
  if (fingerprint_.size() != fingerprint.size() || tokens_per_block_ == 0) return;
  std::memcpy(fingerprint.data(), fingerprint_.data(), fingerprint.size());
  const kv::BlockName root = kv::root_name(fingerprint, tenant_salt(salt_secret_, tenant));
  const std::span<const int32_t> tokens(prepared.prompt().data(),
                                        static_cast<size_t>(prepared.prompt_size()));
  prepared.set_root(schemas::pack_name(root));
  prepared.set_names(schemas::pack_names(names_->names(root, tokens, tokens_per_block_)));
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
