// The source's end of a transfer session, as plain logic: which pages are pinned for it and when
// they are free again. The caller (a prefill worker) does what the actions say.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "transport/limits.hpp"
#include "transport/session_common.hpp"
#include "transport/session_state.hpp"

namespace troupe::transport {

struct SourceActions {
  std::vector<BlockAnnouncement> announce;  ///< tell the receiver
  std::vector<kv::PageId> unpin;            ///< give back one reference of each
  bool tell_last = false;                   ///< tell the receiver: no further blocks will come
  bool tell_heartbeat = false;              ///< tell the receiver: "still here"
  /// Tell the receiver that it need not wait any more, and why.
  std::optional<Error> tell_failure;
  bool over = false;  ///< once: the session is final; Transport::revoke(token) and forget it
};

/// How to use it: Pool::retain and Transport::grant a page, then announce() it: from then on the
/// session owns that reference and gives it back through `unpin`, exactly once, whatever happens.
class SourceSession {
 public:
  /// The lease runs from now on: a receiver that never says a word ends the session.
  SourceSession(uint64_t token, TimeUs now, TimeUs lease_us = limits::lease_us);

  /// The receiver has set pages aside for the blocks [first, end); those that were announced before
  /// are sent now, others are not pinned for it. Only once; later calls are ignored.
  SourceActions on_reserved(uint32_t first, uint32_t end, TimeUs now);
  /// A finished block whose page is pinned. The pin comes straight back in a final state, for an
  /// index that was announced already, and for one that the receiver does not want.
  SourceActions announce(const BlockAnnouncement& block);
  /// No further blocks.
  SourceActions finish();
  /// The receiver has read these blocks: their pages are unpinned. Unknown indices are ignored.
  SourceActions on_read_done(std::span<const uint32_t> indices, TimeUs now);
  /// The receiver is finished with the whole session: done if it read everything, else cancelled.
  SourceActions on_done(TimeUs now);
  SourceActions on_heartbeat(TimeUs now);
  /// The request is over, or the receiver wants nothing any more.
  SourceActions cancel();
  /// The blocks will not come: our computation failed, or the worker goes.
  SourceActions fail(Error why);
  /// The receiver's process is gone.
  SourceActions on_peer_down();
  /// Lease end and heartbeats; call it a few times a second.
  SourceActions on_tick(TimeUs now);

  [[nodiscard]] uint64_t token() const { return token_; }
  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] bool is_reserved() const { return range_.has_value(); }
  [[nodiscard]] size_t num_pinned() const { return pinned_.size(); }

 private:
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
  };

  void enter(SessionState next);
  SourceActions end(SessionState final_state);
  /// Announces a pinned block, or gives its pin back.
  void offer(const BlockAnnouncement& block, SourceActions& actions);
  void check_moved();

  uint64_t token_;
  SessionState state_ = SessionState::offered;
  Lease lease_;
  std::optional<Range> range_;
  std::vector<BlockAnnouncement> held_back_;  ///< announced before on_reserved
  std::unordered_map<uint32_t, kv::PageId> pinned_;
  std::set<uint32_t> announced_;
  bool finished_ = false;
};

}  // namespace troupe::transport
