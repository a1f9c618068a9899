#include "transport/source_session.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"

namespace troupe::transport {

SourceSession::SourceSession(uint64_t token, TimeUs now, TimeUs lease_us)
    : token_(token), lease_(now, lease_us) {}

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
  actions.over = true;
  return actions;
}

SourceActions SourceSession::fail(Error why) {
  SourceActions actions = end(SessionState::failed);
  if (actions.over) actions.tell_failure = std::move(why);
  return actions;
}

void SourceSession::offer(const BlockAnnouncement& block, SourceActions& actions) {
  if (block.index < range_->first || block.index >= range_->end) {
    actions.unpin.push_back(block.page);
    return;
  }
  enter(SessionState::moving);
  pinned_.emplace(block.index, block.page);
  actions.announce.push_back(block);
}

SourceActions SourceSession::on_reserved(uint32_t first, uint32_t end, TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  lease_.heard(now);
  if (range_) return actions;
  range_ = Range{first, end};
  enter(SessionState::reserved);
  pinned_.clear();
  for (const BlockAnnouncement& block : std::exchange(held_back_, {})) offer(block, actions);
  actions.tell_last = finished_;
  check_moved();
  return actions;
}

SourceActions SourceSession::announce(const BlockAnnouncement& block) {
  SourceActions actions;
  const bool refused = is_final(state_) || finished_ || block.index >= limits::session_blocks_max;
  if (refused || !announced_.insert(block.index).second) {
    actions.unpin.push_back(block.page);
  } else if (range_) {
    offer(block, actions);
  } else {
    pinned_.emplace(block.index, block.page);
    held_back_.push_back(block);
  }
  return actions;
}

SourceActions SourceSession::finish() {
  SourceActions actions;
  if (is_final(state_) || std::exchange(finished_, true)) return actions;
  actions.tell_last = range_.has_value();
  check_moved();
  return actions;
}

void SourceSession::check_moved() {
  if (!range_ || !finished_ || !pinned_.empty()) return;
  enter(SessionState::moving);
  enter(SessionState::verified);
}

SourceActions SourceSession::on_read_done(std::span<const uint32_t> indices, TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  lease_.heard(now);
  for (const uint32_t index : indices) {
    const auto found = range_ ? pinned_.find(index) : pinned_.end();
    if (found == pinned_.end()) continue;
    actions.unpin.push_back(found->second);
    pinned_.erase(found);
  }
  check_moved();
  return actions;
}

SourceActions SourceSession::on_done(TimeUs now) {
  if (is_final(state_)) return {};
  lease_.heard(now);
  return end(state_ == SessionState::verified ? SessionState::done : SessionState::cancelled);
}

SourceActions SourceSession::on_heartbeat(TimeUs now) {
  if (!is_final(state_)) lease_.heard(now);
  return {};
}

SourceActions SourceSession::cancel() {
  SourceActions actions = end(SessionState::cancelled);
  if (actions.over && range_) {
    actions.tell_failure = error(Code::cancelled, "the source cancelled the session");
  }
  return actions;
}

SourceActions SourceSession::on_peer_down() {
  return end(SessionState::failed);
}

SourceActions SourceSession::on_tick(TimeUs now) {
  SourceActions actions;
  if (is_final(state_)) return actions;
  if (lease_.expired(now)) {
    return fail(error(Code::timeout, "nothing was heard from the receiver for a whole lease"));
  }
  if (range_ && lease_.heartbeat_due(now)) {
    lease_.said(now);
    actions.tell_heartbeat = true;
  }
  return actions;
}

}  // namespace troupe::transport
