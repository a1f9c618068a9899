// One worker's engine: sequences in, deltas out, by the loop
//   plan = engine.plan(); ticket = backend.submit(plan); outcome =
//   engine.accept(backend.wait(ticket))
// It owns continuous batching, chunked prefill, prefix reuse, drafts and preemption, and knows
// nothing of actors, text or networks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "engine/draft_exchange.hpp"
#include "engine/sampling.hpp"
#include "engine/step_plan.hpp"
#include "kv/block_name.hpp"
#include "kv/local_index.hpp"
#include "kv/pool.hpp"

namespace troupe::engine {

/// What one sequence is to do. `tokens` holds the prompt and, after a recovery, the output so far.
struct SequenceSpec {
  std::vector<int32_t> tokens;
  uint32_t num_prompt_tokens = 0;
  SamplingParams sampling;
  kv::BlockName root;         ///< fingerprint and salt: start of the block chain
  bool prefill_only = false;  ///< compute the full blocks of `tokens`, draw nothing, then finish
  bool drafts = true;         ///< guess tokens ahead; others may learn from this sequence
};

enum class FinishReason : uint8_t { stop, length, prefilled, cancelled, failed };
const char* name(FinishReason reason);

/// New output of one sequence.
struct Delta {
  SequenceId sequence = 0;
  uint32_t first_index = 0;  ///< index of draws[0] among the output tokens
  std::vector<Draw> draws;
  uint32_t drafted = 0;                ///< drafts verified in this step
  uint32_t accepted_drafts = 0;        ///< how many of them are among `draws`
  uint32_t taken_tokens = 0;           ///< of the prompt, found or brought in so far, not computed
  std::optional<FinishReason> finish;  ///< the sequence is gone from the engine
  std::optional<Error> error;          ///< with finish = failed
};

/// A full block of a sequence that now lies, indexed and checksummed, in the pool: each block once,
/// in order. For prefill_only all blocks, those that were cached or delivered included; for others
/// those that the sequence computed. The page is safe from reuse while the sequence has it; who
/// needs it longer must call pool.retain() before the next plan(), add() or expect_external().
///
/// With several layer groups, one for each page that the block has here: pages count as [block]
/// [group], here and where blocks come from elsewhere.
struct BlockReady {
  SequenceId sequence = 0;
  uint32_t block_index = 0;  ///< block i holds tokens [64 i, 64 i + 64) of the sequence
  kv::BlockName name;        ///< of the page (kv::page_name)
  kv::IndexedBlock block;
  bool passing = false;  ///< nobody who goes on behind the tokens known now needs it
  kv::BlockName root;    ///< of the sequence's chain
};

struct Outcome {
  std::vector<Delta> deltas;
  std::vector<BlockReady> blocks;
};

struct EngineLimits {
  uint32_t running_max = 256;      ///< sequences in one step
  uint32_t waiting_max = 4096;     ///< sequences admitted but not running
  uint32_t chunk_tokens = 256;     ///< prefill tokens of one sequence in one step
  uint32_t step_tokens_max = 512;  ///< tokens of one step
  uint32_t draft_tokens_max = 16;  ///< drafts per sequence and step
};

struct EngineStats {
  uint32_t waiting = 0, running = 0;
  uint64_t steps = 0, prefill_tokens = 0, decode_tokens = 0;
  uint64_t drafted = 0, accepted = 0, preemptions = 0, cached_tokens = 0;
  uint64_t shared_drafted = 0, shared_accepted = 0;  ///< of those, what the draft actor proposed
};

class Engine {
 public:
  /// All three must outlive the engine; the pool must be attached to the backend.
  Engine(Backend& backend, kv::Pool& pool, kv::LocalIndex& index, EngineLimits limits);
  ~Engine();

  /// Admits a sequence. Errors: invalid_argument (empty or over-long prompt, token id outside the
  /// vocabulary, bad sampling), exhausted (queue full; prompt larger than the pool).
  Result<SequenceId> add(SequenceSpec spec);

  /// Stops a sequence at once: everything that it held is free when this returns, except what a
  /// running step still uses, which is free after accept(). No further delta names it. Copies into
  /// pages of expect_external() must have stopped before. An unknown id is ignored, here and below.
  void cancel(SequenceId id);

  /// Ends a sequence because its text hit a stop string; like cancel, but its blocks stay indexed.
  void finish(SequenceId id);

  // --- blocks that come from elsewhere -------------------------------------------------------
  /// Blocks of the longest sequence for which the pool has pages.
  [[nodiscard]] uint32_t sequence_blocks_max() const;
  /// Names of the full blocks that the sequence can take over: floor(n / 64) of them. Of a last one
  /// that ends with the newest token all but that token is taken over.
  const std::vector<kv::BlockName>& block_names(SequenceId id) const;
  /// The root of their chain.
  const kv::BlockName& root(SequenceId id) const;
  /// Leading blocks that are here already (matched at add(), or later while it waited).
  uint32_t num_cached_blocks(SequenceId id) const;
  /// Reserves pages for blocks [num_cached_blocks, end) and holds the sequence back until each was
  /// delivered or abandon_external() was called. Pages as [block][group], no_page where none is
  /// needed; of fewer blocks than asked for (maybe none, then it is not held back) when the pool is
  /// short, of none then if there are several groups; none for a sequence that runs already.
  std::vector<kv::PageId> expect_external(SequenceId id, uint32_t end);
  /// Page `block_index`, [block][group] from the sequence's beginning, was copied into its reserved
  /// place and verified; it is indexed now.
  void deliver_external(SequenceId id, uint32_t block_index);
  /// No more blocks will come: compute the rest from the first missing block on.
  void abandon_external(SequenceId id);

  // --- the loop ------------------------------------------------------------------------------
  /// Something could run now.
  [[nodiscard]] bool has_work() const;
  /// The last plan had nothing to run for want of pages, and nothing has changed since.
  [[nodiscard]] bool is_stalled() const;
  /// The next step; empty spans when nothing can run. At most one plan may be outstanding. A plan
  /// without spans needs no backend: give accept() an empty result, for some outcomes need no step
  /// (blocks that were cached, a sequence that does not fit any more).
  StepPlan plan();
  /// Takes the result of the outstanding plan. One that does not belong to it fails its sequences.
  Outcome accept(const StepResult& result);
  /// The outstanding plan failed as a whole: its sequences fail with `error`.
  Outcome reject(const Error& error);

  // --- drafts that others know of --------------------------------------------------------------
  /// Somebody answers draft_asks() and takes lessons; without anybody both stay empty.
  void set_draft_actor(bool present);
  /// What to ask while the outstanding plan runs. Calling it is a promise to send the questions:
  /// an answer to an older one is dropped.
  std::vector<DraftAsk> draft_asks();
  /// May come at any time; one that is late, stale, or no answer to a question is ignored.
  void take_draft_answer(const DraftAnswer& answer);
  /// What was said since the last call, for others to draft from. Bounded: some may be left out.
  std::vector<DraftLesson> take_draft_lessons();
  /// How the answers fared since the last call.
  std::vector<DraftTally> take_draft_tallies();

  [[nodiscard]] EngineStats stats() const;
  /// Pages of a block: the layout's layer groups.
  [[nodiscard]] uint32_t num_groups() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::engine
