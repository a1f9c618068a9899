// What a worker measures: its requests from start to end, its prefills and its load. Keeps a little
// for each choice that runs. No CAF.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "actors/handover.hpp"
#include "actors/metrics.hpp"
#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "engine/step_plan.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/request.pb.h"
#include "transport/transport.hpp"

namespace troupe::actors {

class WorkerMetrics {
 public:
  /// (request id, choice)
  using ChoiceKey = std::pair<uint64_t, uint32_t>;

  /// Empty: counts for itself.
  explicit WorkerMetrics(std::shared_ptr<Metrics> metrics);

  // --- decode ---------------------------------------------------------------------------------
  void on_choice(const v1::StartRequest& start, const v1::ChoiceState& state, TimeUs now);
  /// The engine has taken it.
  void on_admitted(ChoiceKey key, engine::SequenceId sequence, uint32_t num_tokens,
                   uint32_t cached_tokens);
  void on_handover(const HandoverSummary& summary, uint64_t request_id);
  /// What the choice's first token waited for, once it is there.
  struct Waits {
    TimeUs queue_us = 0;    ///< until its first step
    TimeUs prefill_us = 0;  ///< from there on
  };
  [[nodiscard]] Waits waits(ChoiceKey key) const;
  void on_draws(ChoiceKey key, const engine::Delta& delta, TimeUs now);
  /// `finish` as in v1::Delta; a choice that is not known is ignored.
  void on_end(ChoiceKey key, const std::string& finish, Code failure, TimeUs now);

  // --- prefill --------------------------------------------------------------------------------
  void on_prefill(const v1::PrefillRequest& request, TimeUs now);
  void on_prefill_chunk(uint64_t request_id);
  void on_prefill_done(uint64_t request_id, TimeUs now);

  // --- the loop -------------------------------------------------------------------------------
  void on_plan(const engine::StepPlan& plan, TimeUs now);
  void on_step_done(TimeUs now);
  void on_load(const v1::LoadReport& load, const engine::EngineStats& stats);
  void on_transport(const transport::TransportStats& stats);

 private:
  struct Running {
    TimeUs started_us = 0;
    bool resumed = false;  ///< the client had its first token before
    engine::SequenceId sequence = 0;
    TimeUs first_step_us = 0;
    TimeUs first_token_us = 0;
    TimeUs last_token_us = 0;
  };

  std::shared_ptr<Metrics> metrics_;
  std::map<ChoiceKey, Running> running_;
  /// Sequences that no plan has named yet, and whose they are.
  std::unordered_map<engine::SequenceId, ChoiceKey> queued_;
  TimeUs step_began_us_ = 0;
};

}  // namespace troupe::actors
