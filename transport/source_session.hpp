// The source's end of a transfer session, as plain logic: which pages are pinned for it and when
// they are free again. The caller (a prefill worker) does what the actions say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  bool revoke = false;                      ///< Transport::revoke(token); the session is final
  SessionMessages tell;
  std::optional<Error> failure;  ///< set once, when the state becomes failed
};

/// How to use it: Pool::retain and Transport::grant a page, then announce() it: from then on the
/// session owns that reference and gives it back through `unpin`, exactly once, whatever happens.
class SourceSession {
 public:
  /// `receiver_incarnation`: the process that may read; on_peer_down() of another one is ignored.
  SourceSession(uint64_t token, uint64_t receiver_incarnation, TimeUs now,
                TimeUs lease_us = limits::lease_us);

  /// The receiver has set pages aside; blocks announced before are sent now.
  SourceActions on_reserved(TimeUs now);
  /// A finished block whose page is pinned. In a final state the pin comes straight back. An index
  /// that was announced already or is over the limit: the pin comes back as well.
  SourceActions announce(const BlockAnnouncement& block);
  /// No further blocks: `total` of them, indices 0 … total-1, were announced.
  SourceActions finish(uint32_t total);
  /// The receiver has read these blocks: their pages are unpinned. Unknown indices are ignored.
  SourceActions on_read_done(std::span<const uint32_t> indices, TimeUs now);
  /// The receiver has verified everything.
  SourceActions on_done(TimeUs now);
  SourceActions on_heartbeat(TimeUs now);
  /// Cancel from our side (tells the peer) or from the peer (does not).
  SourceActions cancel(bool by_peer);
  /// The receiver gave up.
  SourceActions on_peer_failed();
  SourceActions on_peer_down(uint64_t incarnation);
  /// Lease end and heartbeats; call it at next_tick() or more often.
  SourceActions on_tick(TimeUs now);

  [[nodiscard]] uint64_t token() const { return token_; }
  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] size_t num_pinned() const { return pinned_.size(); }
  [[nodiscard]] TimeUs next_tick() const { return lease_.next_tick(); }

 private:
  void enter(SessionState next);
  SourceActions end(SessionState final_state);
  SourceActions fail(Error why, bool tell);
  void check_moved(SourceActions& actions);

  uint64_t token_;
  uint64_t receiver_incarnation_;
  SessionState state_ = SessionState::offered;
  Lease lease_;
  std::vector<BlockAnnouncement> held_back_;  ///< announced before on_reserved
  std::unordered_map<uint32_t, kv::PageId> pinned_;
  std::vector<bool> announced_;
  uint32_t num_read_ = 0;
  std::optional<uint32_t> total_;
};

}  // namespace troupe::transport
