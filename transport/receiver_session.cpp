#include "transport/receiver_session.hpp"

#include <utility>

#include "base/concat.hpp"

namespace troupe::transport {

ReceiverSession::ReceiverSession(uint64_t token, TimeUs now, TimeUs attach_us, TimeUs lease_us)
    : token_(token), lease_(now, attach_us), lease_us_(lease_us) {}

void ReceiverSession::enter(SessionState next) {
  if (transition_allowed(state_, next)) state_ = next;
}

ReceiverSession::Block* ReceiverSession::find(uint32_t index) {
  if (index < first_ || index - first_ >= blocks_.size()) return nullptr;
  return &blocks_[index - first_];
}

ReceiverActions ReceiverSession::end(SessionState final_state) {
  ReceiverActions actions;
  if (is_final(state_)) return actions;
  enter(final_state);
  waiting_.clear();
  actions.tell_over = true;
  actions.cancel_reads = num_reading_ > 0;
  actions.settled = num_reading_ == 0;
  return actions;
}

ReceiverActions ReceiverSession::fail(Error why) {
  const bool ended = is_final(state_);
  ReceiverActions actions = end(SessionState::failed);
  if (!ended) actions.failure = std::move(why);
  return actions;
}

ReceiverActions ReceiverSession::reserve(uint32_t first, std::vector<kv::PageId> pages) {
  if (state_ != SessionState::offered) return {};
  if (pages.empty() || pages.size() > limits::session_blocks_max) {
    return fail(error(Code::invalid_argument, concat("a session of ", pages.size(), " blocks"),
                      concat("1 to ", limits::session_blocks_max)));
  }
  first_ = first;
  for (const kv::PageId page : pages) {
    const bool is_unwanted = page == kv::no_page;
    blocks_.push_back({page, is_unwanted, false, is_unwanted});
    num_announced_ += is_unwanted ? 1 : 0;
    num_verified_ += is_unwanted ? 1 : 0;
  }
  enter(SessionState::reserved);
  return {};
}

ReceiverActions ReceiverSession::on_attached(TimeUs now) {
  if (!is_final(state_)) lease_.heard(now);
  return {};
}

ReceiverActions ReceiverSession::on_connected(TimeUs now) {
  ReceiverActions actions;
  if (is_final(state_) || std::exchange(connected_, true)) return actions;
  lease_.heard(now);
  // From here on the source speaks by itself.
  lease_.set_length(lease_us_);
  start_reads(actions);
  return actions;
}

ReceiverActions ReceiverSession::on_announce(const BlockAnnouncement& block, TimeUs now) {
  if (is_final(state_)) return {};
  lease_.heard(now);
  Block* ours = find(block.index);
  if (ours == nullptr) {
    return fail(error(Code::invalid_argument,
                      concat("block ", block.index, " was announced, but pages are reserved for ",
                             blocks_.size(), " blocks from ", first_, " on")));
  }
  ReceiverActions actions;
  if (ours->page == kv::no_page) {
    // The source keeps its page for us until it hears of it.
    actions.arrived.push_back(block.index);
    return actions;
  }
  if (std::exchange(ours->announced, true)) return actions;
  ++num_announced_;
  waiting_.push_back(block);
  start_reads(actions);
  return actions;
}

void ReceiverSession::start_reads(ReceiverActions& actions) {
  if (!connected_) return;
  while (!waiting_.empty() && num_reading_ < limits::session_reads_max) {
    const BlockAnnouncement next = waiting_.front();
    waiting_.pop_front();
    enter(SessionState::moving);
    Block& block = *find(next.index);
    block.reading = true;
    ++num_reading_;
    actions.read.push_back({next.index, next.page, block.page, next.checksum});
  }
}

ReceiverActions ReceiverSession::on_last(TimeUs now) {
  if (is_final(state_)) return {};
  lease_.heard(now);
  is_last_ = true;
  return fail_if_short();
}

ReceiverActions ReceiverSession::fail_if_short() {
  const bool is_short = is_last_ && (num_announced_ < blocks_.size() || blocks_.empty());
  // What was announced is of use: it is read first.
  if (!is_short || num_reading_ > 0 || !waiting_.empty()) return {};
  return fail(error(Code::unavailable, concat("the source announced ", num_announced_, " of ",
                                              blocks_.size(), " blocks and no more will come")));
}

ReceiverActions ReceiverSession::on_read_done(uint32_t index, const Status& result, TimeUs now) {
  Block* block = find(index);
  if (block == nullptr || !block->reading) return {};
  block->reading = false;
  --num_reading_;
  if (result.ok()) {
    block->verified = true;
    ++num_verified_;
  }
  ReceiverActions actions;
  if (is_final(state_)) {
    actions.settled = num_reading_ == 0;
    return actions;
  }
  if (!result.ok()) {
    Error why = result.error();
    why.what = concat("block ", index, " did not arrive: ", why.what);
    return fail(std::move(why));
  }
  lease_.heard(now);
  start_reads(actions);
  if (num_verified_ == blocks_.size()) {
    enter(SessionState::verified);
    actions = end(SessionState::done);
  } else if (actions.read.empty()) {
    actions = fail_if_short();
  }
  actions.arrived.push_back(index);
  return actions;
}

ReceiverActions ReceiverSession::on_heartbeat(TimeUs now) {
  if (!is_final(state_)) lease_.heard(now);
  return {};
}

ReceiverActions ReceiverSession::cancel() {
  return end(SessionState::cancelled);
}

ReceiverActions ReceiverSession::on_tick(TimeUs now) {
  if (is_final(state_)) return {};
  if (lease_.expired(now)) {
    return fail(error(Code::timeout, "nothing was heard from the source for too long"));
  }
  ReceiverActions actions;
  if (connected_ && lease_.heartbeat_due(now)) {
    lease_.said(now);
    actions.tell_heartbeat = true;
  }
  return actions;
}

}  // namespace troupe::transport
