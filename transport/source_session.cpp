#include "transport/source_session.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"

namespace troupe::transport {

SourceSession::SourceSession(uint64_t token, uint64_t receiver_incarnation, TimeUs now,
                             TimeUs lease_us)
    : token_(token), receiver_incarnation_(receiver_incarnation), lease_(now, lease_us) {}

void SourceSession::enter(SessionState next) {
  if (transition_allowed(state_, next)) state_ = next;
}

SourceActions SourceSession::end(SessionState final_state) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  enter(final_state);
  for (const auto& [index, page] : pinned_) actions.unpin.push_back(page);
  std::sort(actions.unpin.begin(), actions.unpin.end());
  pinned_.clear();
  held_back_.clear();
  actions.revoke = true;
  return actions;
}

SourceActions SourceSession::fail(Error why, bool tell) {
  const bool ended = is_final(state_);
  SourceActions actions = end(SessionState::failed);
  if (ended) return actions;
  actions.tell.failed = tell;
  actions.failure = std::move(why);
  return actions;
}

SourceActions SourceSession::on_reserved(TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  lease_.heard(now);
  if (state_ != SessionState::offered) return actions;
  enter(SessionState::reserved);
  enter(SessionState::moving);
  actions.announce = std::exchange(held_back_, {});
  check_moved(actions);
  return actions;
}

SourceActions SourceSession::announce(const BlockAnnouncement& block) {
  SourceActions actions;
  const bool open = state_ == SessionState::offered || state_ == SessionState::moving;
  const bool known = block.index < announced_.size() && announced_[block.index];
  if (!open || known || total_ || block.index >= limits::session_blocks_max) {
    actions.unpin.push_back(block.page);
    return actions;
  }
  if (announced_.size() <= block.index) announced_.resize(block.index + 1, false);
  announced_[block.index] = true;
  pinned_.emplace(block.index, block.page);
  (state_ == SessionState::offered ? held_back_ : actions.announce).push_back(block);
  return actions;
}

SourceActions SourceSession::finish(uint32_t total) {
  SourceActions actions;
  if (is_final(state_) || total_) return actions;
  const auto count = static_cast<uint32_t>(std::count(announced_.begin(), announced_.end(), true));
  if (count != total || announced_.size() != total) {
    return fail(error(Code::internal, concat("the session ends with ", total, " blocks, but ",
                                             count, " were announced")),
                true);
  }
  total_ = total;
  check_moved(actions);
  return actions;
}

void SourceSession::check_moved(SourceActions&) {
  if (state_ == SessionState::moving && total_ && num_read_ == *total_) {
    enter(SessionState::verified);
  }
}

SourceActions SourceSession::on_read_done(std::span<const uint32_t> indices, TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  lease_.heard(now);
  for (const uint32_t index : indices) {
    const auto found = pinned_.find(index);
    if (found == pinned_.end()) continue;
    actions.unpin.push_back(found->second);
    pinned_.erase(found);
    ++num_read_;
  }
  check_moved(actions);
  return actions;
}

SourceActions SourceSession::on_done(TimeUs now) {
  if (is_final(state_)) return {};
  lease_.heard(now);
  if (state_ != SessionState::verified) {
    return fail(error(Code::failed_precondition,
                      concat("the receiver said done while the session was ", name(state_))),
                true);
  }
  return end(SessionState::done);
}

SourceActions SourceSession::on_heartbeat(TimeUs now) {
  if (!is_final(state_)) lease_.heard(now);
  return {};
}

SourceActions SourceSession::cancel(bool by_peer) {
  const bool ended = is_final(state_);
  SourceActions actions = end(SessionState::cancelled);
  actions.tell.cancel = !ended && !by_peer;
  return actions;
}

SourceActions SourceSession::on_peer_failed() {
  return fail(error(Code::unavailable, "the receiver gave the session up"), false);
}

SourceActions SourceSession::on_peer_down(uint64_t incarnation) {
  if (incarnation != receiver_incarnation_) return {};
  return fail(error(Code::unavailable, "the receiver is gone"), false);
}

SourceActions SourceSession::on_tick(TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  if (lease_.expired(now)) {
    return fail(error(Code::timeout, "nothing was heard from the receiver for a whole lease"),
                true);
  }
  if (lease_.heartbeat_due(now)) {
    lease_.said(now);
    actions.tell.heartbeat = true;
  }
  return actions;
}

}  // namespace troupe::transport
