// The reading side of hand-overs: transfer sessions with the workers that compute prompts and with
// stores that keep blocks, joined to the engine and to messages. The states are
// transport::ReceiverSession's. No CAF.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/engine.hpp"
#include "kv/layout.hpp"
#include "schemas/common.pb.h"
#include "schemas/request.pb.h"
#include "transport/receiver_session.hpp"
#include "transport/transport.hpp"

namespace troupe::actors {

/// What a hand-over asks of its shell.
struct HandoverPorts {
  /// Sends the attach to the worker; answered by on_attached().
  std::function<void(uint64_t session, const v1::NodeInfo& source, const v1::Attach&)> attach;
  /// Connects the transport; answered by on_connected().
  std::function<void(uint64_t session, const std::string& address)> connect;
  /// Reads one page; answered by on_read().
  std::function<void(transport::PeerId, const transport::ReadRequest&, uint32_t block_index)> read;
  /// Ends all reads of the session.
  std::function<void(uint64_t session)> cancel_reads;
  std::function<void(uint64_t session, const v1::ReadDone&)> tell_source;
};

/// How a hand-over ended; told once.
struct HandoverSummary {
  uint64_t session = 0;
  engine::SequenceId sequence = 0;
  bool by_name = false;  ///< from somebody who has the blocks, not from who computes the prompt
  uint32_t end = 0;      ///< behind the last page that was asked for, as the engine counts
  uint32_t blocks_moved = 0;   ///< in pages
  uint32_t blocks_reused = 0;  ///< blocks of them that nobody computed for this request
  uint64_t bytes_moved = 0;
  std::string transport;
  TimeUs read_us = 0;            ///< sum over the reads
  TimeUs handover_us = 0;        ///< from the first announcement to the last block
  TimeUs last_read_us = 0;       ///< when that block was here; 0: none came
  TimeUs moving_us = 0;          ///< from when reading was possible to the last block
  std::optional<Error> failure;  ///< some blocks did not come; they are computed here
};

class Handovers {
 public:
  Handovers(engine::Engine& engine, HandoverPorts ports,
            std::function<void(const HandoverSummary&)> over);

  /// Starts a session for pages [first, first + pages.size()) of a held sequence, as the engine
  /// counts them; where there is no page none is wanted. With names of those that are wanted, in
  /// order, the source gives what it has of them; without, what the session's prefill computes.
  void begin(uint64_t session, engine::SequenceId sequence, const v1::NodeInfo& source,
             uint32_t first, std::vector<kv::PageId> pages, const std::string& fingerprint,
             std::vector<kv::BlockName> names, TimeUs now);
  void on_attached(uint64_t session, const Result<v1::AttachReply>& reply, TimeUs now);
  void on_connected(uint64_t session, const Result<transport::PeerId>& peer, TimeUs now);
  void on_announce(const v1::Announce& announce, TimeUs now);
  void on_read(uint64_t session, uint32_t block_index, const Result<transport::ReadDone>& result,
               TimeUs now);
  /// The source's process is gone.
  void on_source_down(uint64_t session, TimeUs now);
  void on_tick(TimeUs now);
  /// Ends the session because its sequence is to go; `then` is called once no read can write its
  /// pages any more (maybe at once): the sequence must keep them until then.
  void cancel(uint64_t session, std::function<void()> then);

  [[nodiscard]] size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    transport::ReceiverSession session;
    engine::SequenceId sequence = 0;
    std::function<void()> cancelled;  ///< set: the sequence goes when the reads are over
    std::string fingerprint;
    transport::PeerId peer = 0;
    TimeUs first_announce_us = 0;
    TimeUs connected_us = 0;
    HandoverSummary summary;
    uint32_t first_block = 0;
    std::vector<kv::BlockName> names;
    /// By name only what is wanted is asked for: where each of it belongs, for the engine.
    std::vector<uint32_t> places{};
    std::set<uint32_t> reused{};  ///< announced as not computed for this request
  };

  Session* find(uint64_t session);
  [[nodiscard]] static uint32_t place_of(const Session& session, uint32_t index) {
    return session.places.empty() ? index : session.places.at(index - session.first_block);
  }
  void tell_over(uint64_t session);
  /// The source should look at the block that it gave.
  void tell_corrupt(const Session& session, uint32_t block_index);
  /// Does what the state machine says; the session may be gone afterwards.
  void apply(Session& session, const transport::ReceiverActions& actions);
  void finish(Session& session);

  engine::Engine& engine_;
  HandoverPorts ports_;
  std::function<void(const HandoverSummary&)> over_;
  std::unordered_map<uint64_t, Session> sessions_;
};

}  // namespace troupe::actors
