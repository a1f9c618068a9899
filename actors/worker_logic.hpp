// What a worker does, without CAF: requests become sequences of its engine, steps become deltas,
// full blocks are announced to readers, and missing blocks are read from whoever computes them.
// The actor around it (worker.cpp) translates messages to calls and these ports to messages.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/handover.hpp"
#include "actors/peer_key.hpp"
#include "actors/store_offers.hpp"
#include "actors/worker_metrics.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/engine.hpp"
#include "kv/events.hpp"
#include "kv/local_index.hpp"
#include "kv/pins.hpp"
#include "kv/pool.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/request.pb.h"
#include "text/output_text.hpp"
#include "transport/source_session.hpp"

namespace troupe::actors {

/// What the logic asks of its shell. Calls must not re-enter the logic.
struct WorkerPorts {
  std::function<void(PeerKey client, const v1::Deltas&)> send_deltas;
  std::function<void(PeerKey reader, const v1::Announce&)> send_announce;
  /// Runs the plan; answered by on_step_done().
  std::function<void(engine::StepPlan)> submit;
  HandoverPorts handover;
  /// The session may read the page of our pool / may read nothing any more.
  std::function<void(uint64_t session, kv::PageId page)> grant;
  std::function<void(uint64_t session)> revoke;
  std::function<void(uint64_t session, kv::PageId page)> revoke_page;
  /// Offers blocks to a store; answered by offers().on_reply().
  std::function<void(PeerKey store, const v1::Offer&)> send_offer;
  /// A number for a session that nobody else has.
  std::function<uint64_t()> draw_session;
};

/// What the logic works on; all of it outlives the logic.
struct WorkerParts {
  engine::Engine& engine;
  kv::Pool& pool;
  kv::LocalIndex& index;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< may be empty: no text, no stop strings
  std::string fingerprint;                           ///< 32 bytes
  std::string transport_address;                     ///< what readers connect to
  /// How long blocks wait, pinned, for a reader that says nothing.
  TimeUs page_lease_us = transport::limits::lease_us;
  /// Where it counts; may be empty.
  std::shared_ptr<Metrics> metrics{};
};

class WorkerLogic {
 public:
  WorkerLogic(WorkerParts parts, WorkerPorts ports);

  // --- decode ---------------------------------------------------------------------------------
  /// Begins, or takes over from an earlier attempt. A refusal is told to the client as a delta.
  void on_start(PeerKey client, const v1::StartRequest& start, TimeUs now);
  void on_cancel(uint64_t request_id, uint32_t attempt);
  void on_deltas_ack(PeerKey client, uint64_t number, TimeUs now);
  /// It says that it is there: clients ping while they wait for something.
  void on_client_heard(PeerKey client, TimeUs now);
  /// A client or reader is gone: its work stops.
  void on_peer_down(PeerKey peer);
  Handovers& handovers() { return handovers_; }
  WorkerMetrics& metrics() { return metrics_; }
  StoreOffers& offers() { return offers_; }

  // --- prefill --------------------------------------------------------------------------------
  /// The session is the client's until it is read: it ends when the client goes.
  Status on_prefill(PeerKey client, const v1::PrefillRequest& request, TimeUs now);
  /// To a session that computes a prompt; or, with names, to one that gives what is here of them.
  v1::AttachReply on_attach(PeerKey reader, const v1::Attach& attach, TimeUs now);
  void on_read_done(const v1::ReadDone& done, TimeUs now);

  // --- the loop -------------------------------------------------------------------------------
  void on_step_done(Result<engine::StepResult> result, TimeUs now);
  /// Submits the next plan if the device is idle and there is work.
  void pump();
  /// Leases and time-outs; call a few times a second.
  void on_tick(TimeUs now);

  // --- the end --------------------------------------------------------------------------------
  /// From now on nothing new is taken: starts are answered with "moved".
  void drain() { draining_ = true; }
  /// What runs goes on elsewhere: clients are told so.
  void move_all();
  /// Everything ends. Clients go elsewhere, or are told that there is nowhere to go.
  void close(bool whole_cluster);
  /// Requests and sessions that are not over.
  [[nodiscard]] uint32_t num_busy() const;

  /// Works on the request for this client, or has output for it that waits.
  [[nodiscard]] bool has(PeerKey client, uint64_t request_id) const;
  /// The step that runs has run for longer than a step may.
  [[nodiscard]] bool is_stalled(TimeUs now) const;
  [[nodiscard]] v1::LoadReport load(TimeUs now) const;

 private:
  struct Choice {
    uint64_t request_id = 0;
    uint32_t attempt = 0;
    uint32_t choice = 0;
    PeerKey client = 0;
    std::optional<engine::SequenceId> sequence;  ///< empty while it waits for blocks
    engine::SequenceSpec spec;                   ///< kept while it waits
    text::OutputText text;
    v1::ChoiceStats stats;
    bool stats_news = false;  ///< the next delta tells the client, whatever becomes of us
    uint64_t session = 0;
    std::vector<v1::CachePin> pins;     ///< asked for, and not tried yet
    std::vector<kv::BlockName> to_pin;  ///< the blocks that they are about
  };
  struct Client {
    uint64_t next_number = 1;
    uint64_t acknowledged = 0;
    TimeUs heard_us = 0;
    TimeUs waiting_since_us = 0;
    std::deque<v1::Delta> held;  ///< in order; those of one choice merged up to a size
    std::map<std::pair<uint64_t, uint32_t>, size_t> newest_held;  ///< (request, choice) -> index
    size_t held_bytes = 0;
  };
  struct Source {  ///< a session that reads from us
    transport::SourceSession session;
    uint64_t request_id = 0;
    uint32_t attempt = 0;
    std::optional<engine::SequenceId> sequence;
    bool prefilled = false;
    std::optional<Error> failure;  ///< the prefill was refused before anybody attached
    std::optional<PeerKey> reader;
    std::optional<PeerKey> client;
    TimeUs since_us = 0;
    uint64_t fetch_session = 0;  ///< reads the prompt's beginning from elsewhere; 0: none does
    uint32_t num_cached = 0;     ///< leading blocks that were here
    uint32_t num_reused = 0;     ///< and those that came from somebody else as well
    bool by_name = false;        ///< gives blocks that are here; computes nothing
  };
  using ChoiceKey = std::pair<uint64_t, uint32_t>;

  Result<Choice> make_choice(PeerKey client, const v1::StartRequest& start,
                             const v1::ChoiceState& state) const;
  /// Hands the choice to the engine; what it refuses is told to the client.
  bool admit(Choice& choice);
  /// What of the prompt is in the engine's index now is used; what is to be pinned is noted.
  void note_blocks(Choice& choice);
  /// The prompt is computed: its pins are tried.
  void pin_prompt(Choice& choice);
  /// True when the choice now waits for blocks.
  bool begin_handover(const v1::StartRequest& start, Choice& first, TimeUs now);
  /// Reads blocks of a prompt that is to be computed here from a store.
  void begin_fetch(const v1::PrefillRequest& request, Source& source, TimeUs now);
  /// What a session of either kind reads: the blocks up to `end` that the sequence lacks. False:
  /// nothing to read, or no room.
  bool begin_reading(uint64_t session, engine::SequenceId sequence, const v1::NodeInfo& source,
                     size_t end, bool by_name, TimeUs now);
  /// The blocks of a session are here, or will not come: the choices that waited go on.
  void on_handover_over(const HandoverSummary& summary);
  /// Tells a client that this worker will not (go on to) work on a choice.
  void refuse(PeerKey client, uint64_t request_id, uint32_t choice, uint32_t attempt, Error why,
              const char* finish = "failed");
  /// Ends all choices with this last word.
  void end_all(const char* finish, const Error& why);
  void end_choice(ChoiceKey key, bool cancel_sequence);
  /// Into its stats.
  void note_waits(Choice& choice) const;
  void take_delta(const engine::Delta& delta, std::map<PeerKey, v1::Deltas>& outgoing);
  void queue(PeerKey client, v1::Delta delta, std::map<PeerKey, v1::Deltas>& outgoing);
  void flush(std::map<PeerKey, v1::Deltas> outgoing, TimeUs now);
  static void hold(Client& client, v1::Delta delta);
  void release_held(PeerKey key, Client& client);
  /// Ends what it has here; it is told, should it wake up.
  void drop_client(PeerKey key, const char* why);
  /// Clients that stand still, and those that take no output.
  void drop_lost_clients(TimeUs now);
  void take_outcome(const engine::Outcome& outcome, TimeUs now);
  using Announces = std::map<uint64_t, v1::Announce>;
  void take_block(const engine::BlockReady& ready, Announces& announces);
  [[nodiscard]] bool came_from_store(const engine::BlockReady& ready) const;
  Source& source_of(uint64_t session, TimeUs now);
  /// Announces at once what is here of the names, as the session's first and last word.
  Status give_by_name(PeerKey reader, const v1::Attach& attach, TimeUs now);
  /// Does what the session's state machine says; what is to be told is added to `announce`. The
  /// source may be gone afterwards.
  void apply(uint64_t session, const transport::SourceActions& actions, v1::Announce& announce);
  /// The same, and tells the reader at once.
  void apply(uint64_t session, const transport::SourceActions& actions);
  void tell_reader(std::optional<PeerKey> reader, const v1::Announce& announce);

  /// One step, if the device is idle and there is work.
  void start_step();
  void note_fetch(const HandoverSummary& summary);

  WorkerParts parts_;
  WorkerPorts ports_;
  Handovers handovers_;
  WorkerMetrics metrics_;
  StoreOffers offers_;
  kv::Pins pins_;
  bool running_ = false;  ///< a plan is with the device
  bool closing_ = false;
  bool draining_ = false;
  bool cluster_ends_ = false;
  TimeUs step_since_ = 0;  ///< when the plan was given to the device
  TimeUs now_ = 0;
  TimeUs last_tick_us_ = 0;
  std::map<ChoiceKey, Choice> choices_;
  std::unordered_map<engine::SequenceId, ChoiceKey> by_sequence_;
  std::unordered_map<PeerKey, Client> clients_;
  std::unordered_map<uint64_t, Source> sources_;
  std::unordered_map<engine::SequenceId, uint64_t> source_by_sequence_;
  std::unordered_map<uint64_t, uint64_t> source_by_fetch_;  ///< fetch session -> session
  uint64_t blocks_fetched_ = 0;
  uint64_t blocks_corrupt_ = 0;
  double fetch_bytes_per_us_ = 0;  ///< 0: not measured yet
};

}  // namespace troupe::actors
