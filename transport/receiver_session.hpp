// The receiver's end of a transfer session, as plain logic: which blocks to read next, which of our
// pages hold verified blocks, and when nothing can write them any more. The caller (a decode
// worker) does what the actions say.
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
  std::vector<BlockRead> read;
  /// Blocks that are verified in our pages now: tell the source, which may unpin its own.
  std::vector<uint32_t> arrived;
  bool tell_heartbeat = false;  ///< tell the source: "still here"
  bool tell_over = false;       ///< once: tell the source that we want nothing any more
  bool cancel_reads = false;    ///< Transport::cancel_session(token)
  /// Once: the session is final and no read can write a page any more. Forget it.
  bool settled = false;
  std::optional<Error> failure;  ///< set once, when the state becomes failed
};

class ReceiverSession {
 public:
  /// `attach_us`: how long to wait for the first word of the source.
  ReceiverSession(uint64_t token, TimeUs now, TimeUs attach_us = limits::attach_us,
                  TimeUs lease_us = limits::silence_us);

  /// Our pages for the blocks [first, first + pages.size()); they stay the caller's, who must keep
  /// them until `settled`. A block without a page (no_page) is not wanted. Once.
  ReceiverActions reserve(uint32_t first, std::vector<kv::PageId> pages);
  /// The source knows of us / can be read from.
  ReceiverActions on_attached(TimeUs now);
  ReceiverActions on_connected(TimeUs now);
  /// Announced twice: ignored. Without reserved pages or outside of them: the session fails.
  ReceiverActions on_announce(const BlockAnnouncement& block, TimeUs now);
  /// The source will announce no more: if that is not all, the session fails when the blocks that
  /// were announced are read.
  ReceiverActions on_last(TimeUs now);
  /// A read that an action asked for has ended. A block that failed fails the session; what is
  /// verified stays.
  ReceiverActions on_read_done(uint32_t index, const Status& result, TimeUs now);
  ReceiverActions on_heartbeat(TimeUs now);
  ReceiverActions cancel();
  /// The source, the way to it or its computation is lost.
  ReceiverActions fail(Error why);
  ReceiverActions on_tick(TimeUs now);

  [[nodiscard]] uint64_t token() const { return token_; }
  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] uint32_t num_verified() const { return num_verified_; }
  [[nodiscard]] uint32_t num_reading() const { return num_reading_; }
  /// Final, and no read is running: the session may be destroyed.
  [[nodiscard]] bool settled() const { return is_final(state_) && num_reading_ == 0; }

 private:
  struct Block {
    kv::PageId page = kv::no_page;
    bool announced = false;
    bool reading = false;
    bool verified = false;
  };

  void enter(SessionState next);
  ReceiverActions end(SessionState final_state);
  void start_reads(ReceiverActions& actions);
  ReceiverActions fail_if_short();
  Block* find(uint32_t index);

  uint64_t token_;
  SessionState state_ = SessionState::offered;
  Lease lease_;
  TimeUs lease_us_;
  uint32_t first_ = 0;
  std::vector<Block> blocks_;
  std::deque<BlockAnnouncement> waiting_;
  uint32_t num_announced_ = 0;
  uint32_t num_reading_ = 0;
  uint32_t num_verified_ = 0;
  bool connected_ = false;
  bool is_last_ = false;  ///< no more announcements will come
};

}  // namespace troupe::transport
