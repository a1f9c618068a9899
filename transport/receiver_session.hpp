// The receiver's end of a transfer session, as plain logic: which blocks to read next, which of our
// pages hold verified blocks, and which are free again. The caller (a decode worker) does what the
// actions say.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "transport/limits.hpp"
#include "transport/session_common.hpp"
#include "transport/session_state.hpp"

namespace troupe::transport {

/// Call Transport::read with these, and on_read_done(index, …) when it ends.
struct BlockRead {
  uint32_t index = 0;
  kv::PageId remote_page = kv::no_page;
  kv::PageId local_page = kv::no_page;
  uint32_t checksum = 0;

  bool operator==(const BlockRead&) const = default;
};

struct ReceiverActions {
  bool tell_reserved = false;  ///< tell the source that pages are set aside
  std::vector<BlockRead> read;
  std::vector<uint32_t> tell_read_done;  ///< indices that the source may unpin
  SessionMessages tell;
  bool cancel_reads = false;  ///< Transport::cancel_session(token)
  bool complete = false;      ///< once: every block is in its page
  /// Once, when no read can touch them any more: pages of ours that hold nothing of use. After a
  /// failure the first num_verified_prefix() pages stay with the caller, who computes the rest.
  std::vector<kv::PageId> release;
  std::optional<Error> failure;  ///< set once, when the state becomes failed
};

class ReceiverSession {
 public:
  ReceiverSession(uint64_t token, uint64_t source_incarnation, TimeUs now,
                  TimeUs lease_us = limits::lease_us);

  /// Our pages for the blocks 0 … pages.size()-1; the session owns them until `release` or
  /// `complete`. In a final state they come straight back. Once.
  ReceiverActions reserve(std::vector<kv::PageId> pages);
  /// Announced twice: ignored. Beyond the reserved pages: the session fails.
  ReceiverActions on_announce(const BlockAnnouncement& block, TimeUs now);
  /// The source will announce no more than these.
  ReceiverActions on_finish(uint32_t total, TimeUs now);
  /// A read that an action asked for has ended. `result`: its Status. A block that failed fails the
  /// session; what is verified from the first block on is kept.
  ReceiverActions on_read_done(uint32_t index, const Status& result);
  ReceiverActions on_heartbeat(TimeUs now);
  ReceiverActions cancel(bool by_peer);
  ReceiverActions on_peer_failed();
  ReceiverActions on_peer_down(uint64_t incarnation);
  ReceiverActions on_tick(TimeUs now);

  [[nodiscard]] uint64_t token() const { return token_; }
  [[nodiscard]] SessionState state() const { return state_; }
  /// Blocks 0 … n-1 that are verified and in their pages.
  [[nodiscard]] uint32_t num_verified_prefix() const;
  [[nodiscard]] uint32_t num_verified() const { return num_verified_; }
  [[nodiscard]] uint32_t num_reading() const { return num_reading_; }
  /// Final, and no read is running: the session may be destroyed.
  [[nodiscard]] bool settled() const { return is_final(state_) && num_reading_ == 0; }
  [[nodiscard]] TimeUs next_tick() const { return lease_.next_tick(); }

 private:
  struct Block {
    kv::PageId page = kv::no_page;
    bool announced = false;
    bool reading = false;
    bool verified = false;
  };

  void enter(SessionState next);
  ReceiverActions end(SessionState final_state);
  ReceiverActions fail(Error why, bool tell);
  void start_reads(ReceiverActions& actions);
  void release_if_settled(ReceiverActions& actions);
  void check_complete(ReceiverActions& actions);

  uint64_t token_;
  uint64_t source_incarnation_;
  SessionState state_ = SessionState::offered;
  Lease lease_;
  std::vector<Block> blocks_;
  std::deque<BlockAnnouncement> waiting_;
  uint32_t num_reading_ = 0;
  uint32_t num_verified_ = 0;
  std::optional<uint32_t> total_;
  bool released_ = false;
};

}  // namespace troupe::transport
