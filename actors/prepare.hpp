// What the front decides about a request: render, tokenize, resolve parameters, draw the seed, name
// the blocks. No CAF.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "kv/block_name.hpp"
#include "kv/name_memo.hpp"
#include "model/model.hpp"
#include "schemas/request.pb.h"
#include "text/chat_prompt.hpp"
#include "text/chat_template.hpp"
#include "text/section_memo.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer.hpp"

namespace troupe::actors {

/// What a cluster allows every request (limits of its manifest).
struct RequestLimits {
  uint32_t output_tokens_max = 16384;
  int64_t timeout_ms = 600'000;
};

/// Equal for equal prompts; without the salt it says nothing of them.
uint64_t prompt_hash(const v1::PreparedRequest& prepared, uint64_t salt);

class Preparer {
 public:
  /// `tokenizer`: of this model, shared with others in the process; null: one is made.
  /// Errors: whatever the tokenizer or the template of the model is refused for.
  static Result<std::unique_ptr<Preparer>> make(
      const model::Model& model, uint32_t context_max, std::string model_name,
      RequestLimits limits = {}, std::shared_ptr<const text::Tokenizer> tokenizer = nullptr);

  /// What the workers said that their blocks are interchangeable with.
  void set_fingerprint(const std::string& fingerprint, uint32_t tokens_per_block);
  /// What the salts of tenants are derived from: the same in every front of a cluster.
  void set_salt_secret(std::string secret) { salt_secret_ = std::move(secret); }

  /// The prepared request, or one with its failure set; for another purpose than a generation what
  /// was asked for. `random_seed` is used when the request has no seed.
  v1::PreparedRequest prepare(const v1::PrepareRequest& request, uint64_t random_seed) const;

 private:
  Preparer() = default;
  Result<v1::PreparedRequest> try_prepare(const v1::PrepareRequest& request,
                                          uint64_t random_seed) const;
  Result<v1::PreparedRequest> answer(const v1::PrepareRequest& request) const;
  Status check_model(const v1::PrepareRequest& request) const;
  Status check_prompt(const std::vector<int32_t>& tokens) const;
  v1::ModelCard card() const;
  struct Prompt {
    std::vector<int32_t> tokens;
    std::vector<v1::CachePin> pins;
  };
  Result<Prompt> prompt_of(const v1::PrepareRequest& request) const;
  Result<text::RenderInput> conversation(const v1::PrepareRequest& request) const;
  void name_blocks(v1::PreparedRequest& prepared, const std::string& tenant) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::optional<text::ChatTemplate> template_;
  std::optional<text::ControlSpellings> controls_;  ///< of the tokenizer
  std::unique_ptr<text::SectionMemo> memo_ =
      std::make_unique<text::SectionMemo>(text::limits::memo_ids_max);
  std::unique_ptr<kv::NameMemo> names_ = std::make_unique<kv::NameMemo>();
  std::string model_name_;
  std::string bos_text_, eos_text_;
  RequestLimits limits_;
  uint32_t context_max_ = 0;
  uint32_t vocab_size_ = 0;
  std::string fingerprint_;
  std::string salt_secret_;
  uint32_t tokens_per_block_ = 0;
};

}  // namespace troupe::actors
