// Text to token ids and back: byte-level BPE with special tokens. Immutable; any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "text/bpe.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/token_trie.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

struct EncodeOptions {
  bool parse_special = false;  ///< control tokens spelt out in the text become their ids
  bool add_special = false;    ///< add BOS and EOS where the vocabulary asks for them
  /// With parse_special: a control token that would overlap one of these ranges stays text.
  /// Ascending and disjoint; borrowed for the call.
  std::span<const ByteRange> plain{};
};

class Tokenizer {
 public:
  /// Checks the whole spec: invalid_argument for lists that contradict each other, unsupported for
  /// a pre-tokenizer that this build lacks (the hint lists those it has).
  static Result<std::shared_ptr<const Tokenizer>> make(const TokenizerSpec& spec);

  /// Ids of `text`. User-defined tokens are always matched, control tokens with parse_special.
  /// invalid_argument: not UTF-8; exhausted: longer than limits::prompt_bytes_max.
  [[nodiscard]] Result<std::vector<int32_t>> encode(std::string_view text,
                                                    EncodeOptions options = {}) const;

  /// The bytes of the ids, joined: not necessarily UTF-8 (see replace_invalid_utf8).
  /// invalid_argument: an id outside of the vocabulary.
  [[nodiscard]] Result<std::string> decode(std::span<const int32_t> ids,
                                           bool skip_special = false) const;

  /// The bytes that a token stands for; empty for an id outside of the vocabulary. Valid as long as
  /// the tokenizer.
  [[nodiscard]] std::string_view token_bytes(int32_t id) const;

  /// The token that stands for exactly these bytes; a special token before an ordinary one.
  [[nodiscard]] std::optional<int32_t> id_of(std::string_view bytes) const;

  [[nodiscard]] bool contains(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < types_.size();
  }
  /// True for control tokens: markup of the conversation, not text.
  [[nodiscard]] bool is_control(int32_t id) const;
  /// True for ids that end a generation.
  [[nodiscard]] bool is_stop(int32_t id) const;

  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(types_.size()); }
  [[nodiscard]] int32_t bos_id() const { return bos_id_; }  ///< -1: none
  [[nodiscard]] int32_t eos_id() const { return eos_id_; }  ///< -1: none
  [[nodiscard]] const std::vector<int32_t>& stop_ids() const { return stop_ids_; }

 private:
  Tokenizer() = default;
  Status load_tokens(const TokenizerSpec& spec);
  Status load_merges(const TokenizerSpec& spec);
  Status load_special(const TokenizerSpec& spec);
  [[nodiscard]] TokenTrie::Match special_at(std::string_view text, size_t at,
                                            std::span<const ByteRange> plain) const;
  void encode_plain(std::string_view text, BpeMerger& merger, std::vector<size_t>& ends,
                    std::vector<int32_t>& ids) const;

  SplitFunction split_ = nullptr;
  std::vector<TokenType> types_;
  std::string bytes_;                                       ///< of all tokens, joined
  std::vector<size_t> offsets_;                             ///< into bytes_, one more than tokens
  std::unordered_map<std::string_view, int32_t> by_bytes_;  ///< keys point into bytes_
  std::array<int32_t, 256> byte_ids_{};
  MergeTable merges_;
  TokenTrie user_defined_;
  TokenTrie special_;  ///< user-defined and control
  std::vector<int32_t> stop_ids_;
  int32_t bos_id_ = -1;
  int32_t eos_id_ = -1;
  bool add_bos_ = false;
  bool add_eos_ = false;
};

}  // namespace troupe::text
