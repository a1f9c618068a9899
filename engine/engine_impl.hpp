// The engine's inside. Its methods are spread over engine_*.cpp by concern.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/branches.hpp"
#include "engine/draft_limits.hpp"
#include "engine/engine.hpp"
#include "engine/policy.hpp"
#include "engine/sequence.hpp"
#include "kv/name_memo.hpp"

namespace troupe::engine {

namespace limits {
/// Waiting sequences looked at per step; those behind wait until the front moves on.
inline constexpr uint32_t admission_scan_max = 64;
/// Tokens of one sequence that are indexed for drafts per step, so that a long prompt from the
/// cache does not delay the step.
inline constexpr uint32_t lookup_feed_max = 8192;
}  // namespace limits

/// Ids are given in order of arrival, so the order of ids is the order of age everywhere.
struct Engine::Impl {
  /// What reserve() may do when no page is free; each includes those before.
  enum class Pressure : uint8_t {
    evict,    ///< drop cached blocks that nobody uses
    strip,    ///< take the pages of waiting sequences
    preempt,  ///< send younger running sequences back to the queue
  };

  Impl(Backend& backend_in, kv::Pool& pool_in, kv::LocalIndex& index_in, EngineLimits limits_in);

  // engine_admit.cpp
  Result<SequenceId> add(SequenceSpec spec);
  Status check(const SequenceSpec& spec) const;
  void end(SequenceId id, Ending how);

  // engine_external.cpp
  std::vector<kv::PageId> expect_external(Sequence& s, uint32_t end_block);
  void deliver_external(Sequence& s, uint32_t page);
  void stop_holding(Sequence& s);

  // engine_blocks.cpp
  [[nodiscard]] uint32_t pages_for(uint32_t tokens) const {
    return (tokens + block_tokens - 1) / block_tokens;
  }
  [[nodiscard]] uint32_t available() const { return pool.num_free() + index.num_evictable(); }
  /// Pages of group 0 for the sequence's first `num_blocks` blocks, or none.
  bool reserve(Sequence& s, uint32_t num_blocks, Pressure pressure);
  std::optional<kv::PageId> take_page(const Sequence& s, uint32_t wanted, Pressure pressure);
  bool strip_youngest_waiting(const Sequence& except);
  bool preempt_youngest(const Sequence& younger_than);
  void preempt(Sequence& s);
  void truncate_blocks(Sequence& s, uint32_t num_blocks);
  void drop_blocks(Sequence& s);
  void match_blocks(Sequence& s);
  /// Names of the blocks that the sequence may take from the index.
  [[nodiscard]] std::span<const kv::BlockName> matchable(const Sequence& s) const;
  /// Every token lies in indexed blocks, but what follows is drawn from the logits of the newest:
  /// that one is computed again, into a copy in the sequence's last page, for others use the block.
  void copy_last_block(Sequence& s);
  /// There is no room for a copy: the block is computed.
  void give_up_last_block(Sequence& s);
  /// Takes over the first tokens of the block to be computed from one that begins with them.
  void take_branch(Sequence& s);
  void index_blocks(Sequence& s);
  void index_page(Sequence& s, uint32_t block, uint32_t group);
  void announce(Sequence& s, Outcome& out);
  void claim(Sequence& s);
  void unclaim(Sequence& s, uint32_t end);
  [[nodiscard]] bool claimed_by_other(const Sequence& s) const;

  // engine_windows.cpp
  /// The first block whose page of the group is kept once `tokens` are computed: the last of them
  /// may have to be computed again.
  [[nodiscard]] uint32_t window_begin(uint32_t group, uint32_t tokens) const {
    return tokens == 0 ? 0 : pool.layout().first_block(group, tokens - 1);
  }
  [[nodiscard]] uint32_t chunk_max() const;
  /// Pages that a sequence of so many tokens takes at most.
  [[nodiscard]] uint32_t pages_at_most(uint32_t tokens) const;
  [[nodiscard]] uint32_t pages_held(const Sequence& s) const;
  /// Pages of the groups with a window for blocks [begin, end), those from which a query at
  /// `position` goes on; all or none. Their pages of group 0 are there.
  bool reserve_windows(Sequence& s, uint32_t begin, uint32_t end, uint32_t position,
                       Pressure pressure);
  /// The same for the tokens up to `tokens`, which are to be computed next.
  bool reserve_windows(Sequence& s, uint32_t tokens, Pressure pressure);
  /// Tokens up to which every page is there that the next span writes.
  [[nodiscard]] uint32_t tokens_with_pages(const Sequence& s) const;
  /// Where the longest prefix of `names` ends that can be gone on behind with what is here.
  [[nodiscard]] uint32_t usable_end(Sequence& s, std::span<const kv::BlockName> names) const;
  [[nodiscard]] bool has_windows(Sequence& s, uint32_t end) const;
  void take_windows(Sequence& s, uint32_t first, uint32_t end);
  /// Gives up pages that no token to come needs.
  void leave_windows(Sequence& s);

  // engine_plan.cpp
  struct Grant {
    Sequence* sequence;
    uint32_t tokens;
  };
  StepPlan plan();
  std::vector<Sequence*> grow_decoding();
  void grow(Sequence& s);
  [[nodiscard]] uint32_t next_end(const Sequence& s) const;
  void rotate(std::vector<Sequence*>& decoding, uint32_t spans);
  std::vector<Grant> grant_prefill(StepBudget& budget);
  bool admit(Sequence& s);
  void add_span(StepPlan& plan, Sequence& s, uint32_t tokens);

  // engine_drafts.cpp
  void choose_drafts(Sequence& s, StepBudget& budget, StepLoad& load);
  std::vector<DraftAsk> draft_asks();
  void take_draft_answer(const DraftAnswer& answer);
  DraftTally& tally_of(const kv::BlockName& group);
  void teach_prompt(const Sequence& s);
  void teach_output(const Sequence& s);
  void teach(const Sequence& s, size_t begin, size_t end);

  // engine_accept.cpp
  struct Planned {
    Sequence* sequence;
    uint32_t tokens;  ///< of the span
    uint32_t draws;
  };
  Outcome accept(const StepResult& result);
  Outcome reject(const Error& error);
  void take(Sequence& s, const Planned& span, const SpanResult& result, Outcome& out);
  Status check(const Planned& span, const SpanResult& result) const;
  uint32_t append_draws(Sequence& s, const Planned& span, const SpanResult& result, Outcome& out);
  void tell_ends(Outcome& out);

  // sequences
  Sequence* find(SequenceId id);
  void complete(Sequence& s, FinishReason reason);
  void fail(Sequence& s, Error error);
  void leave_queues(Sequence& s);
  void retire(Sequence& s);

  Backend& backend;
  kv::Pool& pool;
  kv::LocalIndex& index;
  EngineLimits limits;
  uint32_t block_tokens;
  uint32_t groups;
  uint32_t step_tokens_max;

  std::map<SequenceId, std::unique_ptr<Sequence>> sequences;
  std::map<SequenceId, Sequence*> waiting, running;
  uint32_t num_held = 0;
  std::unordered_map<kv::BlockName, SequenceId, kv::BlockNameHash> claims;
  Branches branches;
  kv::NameMemo name_memo;
  /// Sequences with something to tell in the next outcome that no step result brings.
  std::set<SequenceId> untold;

  std::vector<Planned> planned;  ///< as the outstanding plan's spans
  uint64_t step = 0;
  SequenceId last_id = 0;
  SequenceId rotation = 0;  ///< last decoding sequence served when not all fit into a step
  bool stalled = false;     ///< the last plan was empty and nothing changed since
  uint32_t stalled_available = 0;
  bool is_short_of_windows = false;  ///< the next plan may take from others what this one lacked
  bool is_short_of_pages = false;    ///< somebody got none since the last plan was begun
  EngineStats counters;

  Acceptance acceptance{2000};  ///< of all sequences
  StepCosts costs;
  uint32_t decode_tokens = 0;  ///< of the outstanding plan, when it has no prompt's; else 0
  bool has_draft_actor = false;
  std::vector<DraftLesson> lessons;
  size_t lesson_tokens = 0;
  std::map<kv::BlockName, DraftTally> tallies;
  DraftTally untallied;
};

}  // namespace troupe::engine
