#include "transport/receiver_session.hpp"

#include <utility>

#include "base/concat.hpp"

namespace troupe::transport {

ReceiverSession::ReceiverSession(uint64_t token, uint64_t source_incarnation, TimeUs now,
                                 TimeUs lease_us)
    : token_(token), source_incarnation_(source_incarnation), lease_(now, lease_us) {}

void ReceiverSession::enter(SessionState next) {
  if (transition_allowed(state_, next)) state_ = next;
}

uint32_t ReceiverSession::num_verified_prefix() const {
  uint32_t count = 0;
  while (count < blocks_.size() && blocks_[count].verified) ++count;
  return count;
}

ReceiverActions ReceiverSession::end(SessionState final_state) {
  ReceiverActions actions;
  if (is_final(state_)) return actions;
  enter(final_state);
  waiting_.clear();
  actions.cancel_reads = num_reading_ > 0;
  release_if_settled(actions);
  return actions;
}

ReceiverActions ReceiverSession::fail(Error why, bool tell) {
  const bool ended = is_final(state_);
  ReceiverActions actions = end(SessionState::failed);
  if (ended) return actions;
  actions.tell.failed = tell;
  actions.failure = std::move(why);
  return actions;
}

void ReceiverSession::release_if_settled(ReceiverActions& actions) {
  if (released_ || num_reading_ > 0 || state_ == SessionState::done || !is_final(state_)) return;
  released_ = true;
  const size_t kept = state_ == SessionState::failed ? num_verified_prefix() : 0;
  for (size_t i = kept; i < blocks_.size(); ++i) actions.release.push_back(blocks_[i].page);
}

ReceiverActions ReceiverSession::reserve(std::vector<kv::PageId> pages) {
  ReceiverActions actions;
  if (state_ != SessionState::offered || pages.size() > limits::session_blocks_max) {
    actions.release = std::move(pages);
    return actions;
  }
  for (const kv::PageId page : pages) blocks_.push_back({page, false, false, false});
  enter(SessionState::reserved);
  actions.tell_reserved = true;
  return actions;
}

ReceiverActions ReceiverSession::on_announce(const BlockAnnouncement& block, TimeUs now) {
  if (is_final(state_)) return {};
  lease_.heard(now);
  if (state_ == SessionState::offered) {
    return fail(error(Code::failed_precondition,
                      concat("block ", block.index, " was announced before pages were reserved")),
                true);
  }
  if (block.index >= blocks_.size() || (total_ && block.index >= *total_)) {
    return fail(error(Code::invalid_argument, concat("block ", block.index, " was announced, but ",
                                                     blocks_.size(), " pages are reserved")),
                true);
  }
  ReceiverActions actions;
  if (std::exchange(blocks_[block.index].announced, true)) return actions;
  enter(SessionState::moving);
  waiting_.push_back(block);
  start_reads(actions);
  return actions;
}

void ReceiverSession::start_reads(ReceiverActions& actions) {
  while (!waiting_.empty() && num_reading_ < limits::session_reads_max) {
    const BlockAnnouncement next = waiting_.front();
    waiting_.pop_front();
    Block& block = blocks_[next.index];
    block.reading = true;
    ++num_reading_;
    actions.read.push_back({next.index, next.page, block.page, next.checksum});
  }
}

ReceiverActions ReceiverSession::on_finish(uint32_t total, TimeUs now) {
  if (is_final(state_) || total_) return {};
  lease_.heard(now);
  uint32_t beyond = 0;
  for (size_t i = total; i < blocks_.size(); ++i) beyond += blocks_[i].announced ? 1 : 0;
  if (total > blocks_.size() || beyond > 0 || state_ == SessionState::offered) {
    return fail(error(Code::invalid_argument,
                      concat("the source ends with ", total, " blocks, which does not fit ",
                             blocks_.size(), " reserved pages or what it announced")),
                true);
  }
  ReceiverActions actions;
  total_ = total;
  enter(SessionState::moving);
  check_complete(actions);
  return actions;
}

void ReceiverSession::check_complete(ReceiverActions& actions) {
  if (state_ != SessionState::moving || !total_ || num_verified_ != *total_) return;
  enter(SessionState::verified);
  enter(SessionState::done);
  actions.tell.done = true;
  actions.complete = true;
  for (size_t i = *total_; i < blocks_.size(); ++i) actions.release.push_back(blocks_[i].page);
  released_ = true;
}

ReceiverActions ReceiverSession::on_read_done(uint32_t index, const Status& result) {
  if (index >= blocks_.size() || !blocks_[index].reading) return {};
  Block& block = blocks_[index];
  block.reading = false;
  --num_reading_;
  if (result.ok()) {
    block.verified = true;
    ++num_verified_;
  }
  ReceiverActions actions;
  if (is_final(state_)) {
    release_if_settled(actions);
    return actions;
  }
  if (!result.ok()) {
    Error why = result.error();
    why.what = concat("block ", index, " did not arrive: ", why.what);
    return fail(std::move(why), true);
  }
  actions.tell_read_done.push_back(index);
  start_reads(actions);
  check_complete(actions);
  return actions;
}

ReceiverActions ReceiverSession::on_heartbeat(TimeUs now) {
  if (!is_final(state_)) lease_.heard(now);
  return {};
}

ReceiverActions ReceiverSession::cancel(bool by_peer) {
  const bool ended = is_final(state_);
  ReceiverActions actions = end(SessionState::cancelled);
  actions.tell.cancel = !ended && !by_peer;
  return actions;
}

ReceiverActions ReceiverSession::on_peer_failed() {
  return fail(error(Code::unavailable, "the source gave the session up"), false);
}

ReceiverActions ReceiverSession::on_peer_down(uint64_t incarnation) {
  if (incarnation != source_incarnation_) return {};
  return fail(error(Code::unavailable, "the source is gone"), false);
}

ReceiverActions ReceiverSession::on_tick(TimeUs now) {
  if (is_final(state_)) return {};
  if (lease_.expired(now)) {
    return fail(error(Code::timeout, "nothing was heard from the source for a whole lease"), true);
  }
  ReceiverActions actions;
  if (lease_.heartbeat_due(now)) {
    lease_.said(now);
    actions.tell.heartbeat = true;
  }
  return actions;
}

}  // namespace troupe::transport
