#include "engine/shared_run.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
/// A run of which so many tokens came true was worth asking for.
constexpr uint32_t useful_tokens = 4;
}  // namespace

void SharedRun::drop_run() {
  run_.clear();
  begin_ = known_;
}

void SharedRun::ask_later() {
  interval_ = std::min(limits::ask_interval_max, 2 * interval_);
  next_ask_ = known_ + interval_;
}

void SharedRun::follow(const std::vector<int32_t>& tokens) {
  const auto size = static_cast<uint32_t>(tokens.size());
  for (uint32_t at = std::max(known_, begin_); at < std::min(size, end()); ++at) {
    const bool right = tokens[at] == run_[at - begin_];
    if (at >= answered_) outcomes_.push_back({match_ + at - answered_, right});
    if (right) continue;
    known_ = size;
    if (at >= answered_ + useful_tokens) {
      interval_ = 1;
    } else if (at >= answered_) {
      ask_later();
    }
    drop_run();
    return;
  }
  known_ = size;
  if (end() > known_) return;
  if (!run_.empty()) interval_ = 1;  // all of it came true
  drop_run();
}

std::span<const int32_t> SharedRun::guess() const {
  if (end() <= known_) return {};
  return std::span(run_).subspan(known_ - begin_);
}

uint32_t SharedRun::length() const {
  return match_ + (known_ > answered_ ? known_ - answered_ : 0);
}

std::optional<SharedRun::Question> SharedRun::ask(const std::vector<int32_t>& tokens,
                                                  const std::vector<int32_t>& drafted) {
  follow(tokens);
  if (known_ < next_ask_) return std::nullopt;
  const std::span<const int32_t> ahead = guess();
  // A run that the drafts contradict is about to be dropped, or they are: that decides first.
  const size_t both = std::min(ahead.size(), drafted.size());
  if (!std::equal(drafted.begin(), drafted.begin() + static_cast<std::ptrdiff_t>(both),
                  ahead.begin())) {
    return std::nullopt;
  }
  if (ahead.size() >= drafted.size() + limits::run_refill_tokens) return std::nullopt;
  Asked asked;
  asked.guess = drafted;
  if (ahead.size() > both) {
    asked.guess.insert(asked.guess.end(), ahead.begin() + static_cast<std::ptrdiff_t>(both),
                       ahead.end());
  }
  asked.position = known_ + static_cast<uint32_t>(asked.guess.size());
  Question question;
  question.position = asked.position;
  const size_t before = std::min(tokens.size(), size_t{limits::match_tokens_max});
  question.context.assign(tokens.end() - static_cast<std::ptrdiff_t>(before), tokens.end());
  question.context.insert(question.context.end(), asked.guess.begin(), asked.guess.end());
  if (question.context.size() > limits::match_tokens_max) {
    question.context.erase(question.context.begin(),
                           question.context.end() - limits::match_tokens_max);
  }
  asked_ = std::move(asked);
  return question;
}

void SharedRun::answer(const std::vector<int32_t>& tokens, uint32_t position, uint32_t match,
                       std::span<const int32_t> next) {
  if (!asked_.has_value() || asked_->position != position) return;
  const Asked asked = std::move(*asked_);
  asked_.reset();
  if (match == 0 || next.empty()) return ask_later();
  next = next.first(std::min(next.size(), size_t{limits::run_tokens_max}));
  if (!run_.empty() && end() == position) {
    run_.insert(run_.end(), next.begin(), next.end());
    return;
  }
  run_ = asked.guess;
  run_.insert(run_.end(), next.begin(), next.end());
  begin_ = position - static_cast<uint32_t>(asked.guess.size());
  answered_ = position;
  match_ = match;
  // What was drawn since the question is compared at once.
  known_ = begin_;
  follow(tokens);
}

}  // namespace troupe::engine
