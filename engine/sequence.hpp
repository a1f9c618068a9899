// One sequence inside the engine: its tokens, its pages and how far it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/drafter.hpp"
#include "engine/engine.hpp"
#include "engine/sampling.hpp"
#include "engine/step_plan.hpp"
#include "kv/block_name.hpp"
#include "kv/layout.hpp"

namespace troupe::engine {

enum class SequenceState : uint8_t {
  waiting,  ///< may start; its pages are blocks that were found in the index
  held,     ///< waits for blocks from elsewhere
  running,  ///< has its pages and a place in the steps
  done,     ///< computes nothing more; its last delta is still to be told
};

/// The caller ended the sequence while a step still uses it.
enum class Ending : uint8_t { none, cancelled, finished };

/// Blocks [begin, end) that are copied into reserved pages by somebody else; counted in pages.
struct ExternalBlocks {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t missing = 0;
  std::vector<bool> delivered;  ///< [(end - begin) * groups]; those that nobody needs too
};

struct Sequence {
  SequenceId id = 0;
  TokenHistory history;
  SamplingParams sampling;
  kv::BlockName root;
  bool prefill_only = false;
  bool drafts = true;

  SequenceState state = SequenceState::waiting;
  Ending ending = Ending::none;
  bool started = false;  ///< ran or expected blocks: what it found in the index is final
  bool planned = false;  ///< the outstanding plan borrows from it

  /// Names of the blocks that are full once every token is computed: floor(n / 64) of them, growing
  /// with the output.
  std::vector<kv::BlockName> names;
  /// Names of pages of groups with a window, [block][groups - 1], as far as somebody asked: each
  /// is a hash, and a sequence that waits is asked about in every step. Empty ones are not known.
  std::vector<kv::BlockName> window_names;
  /// One reference each, [block][group]; block i holds tokens [64 i, 64 i + 64). Pages behind the
  /// indexed blocks are this sequence's alone: only they are written. Group 0 has all its pages; of
  /// the groups with a window those are there that the next token needs or that are to be written,
  /// the others are no_page.
  std::vector<kv::PageId> pages;
  uint32_t groups = 1;
  std::vector<uint32_t> windows_begin;  ///< [groups]: blocks before have no page of the group
  uint32_t num_computed = 0;            ///< leading tokens whose KV is final in `pages`
  uint32_t num_indexed = 0;             ///< leading blocks that are in the index
  uint32_t num_announced = 0;           ///< leading blocks that need no BlockReady any more
  uint32_t num_cached = 0;              ///< leading blocks found before it started
  uint32_t num_taken = 0;               ///< tokens whose KV it found, or was brought, when it ran
  bool preempted = false;               ///< what it finds from now on may be its own
  ExternalBlocks external;
  uint32_t claims_begin = 0, claims_end = 0;  ///< blocks claimed for in-flight sharing

  Drafter drafter;
  std::vector<int32_t> drafted;  ///< drafts in the outstanding plan

  /// Set with state done: what the last delta says.
  std::optional<FinishReason> finish;
  std::optional<Error> failure;

  [[nodiscard]] uint32_t num_tokens() const { return static_cast<uint32_t>(history.tokens.size()); }
  [[nodiscard]] uint32_t num_names() const { return static_cast<uint32_t>(names.size()); }
  [[nodiscard]] uint32_t num_blocks() const { return static_cast<uint32_t>(pages.size()) / groups; }
  [[nodiscard]] kv::PageId& page(uint32_t block, uint32_t group) {
    return pages[size_t{block} * groups + group];
  }
  [[nodiscard]] kv::PageId page(uint32_t block, uint32_t group) const {
    return pages[size_t{block} * groups + group];
  }

  /// Tokens that are to be computed altogether, as known now.
  [[nodiscard]] uint32_t target_tokens(uint32_t tokens_per_block) const {
    return prefill_only ? num_names() * tokens_per_block : num_tokens();
  }
  [[nodiscard]] uint32_t remaining(uint32_t tokens_per_block) const {
    return target_tokens(tokens_per_block) - num_computed;
  }
  /// All is there but the logits of the newest token; only while it waits.
  [[nodiscard]] bool whole() const { return !prefill_only && num_computed == num_tokens(); }
  /// Only the newest token is to be computed.
  [[nodiscard]] bool decoding() const { return !prefill_only && num_computed + 1 == num_tokens(); }

  /// Name of the page of one layer group of a block that has a name.
  [[nodiscard]] const kv::BlockName& page_name(uint32_t block, uint32_t group);
  /// Names the blocks that became nameable since the last call.
  void extend_names(uint32_t tokens_per_block);
  /// Why the output ends with its last token, if it does.
  [[nodiscard]] std::optional<FinishReason> finish_reason(uint32_t context_max) const;
};

}  // namespace troupe::engine
