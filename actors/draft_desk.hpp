// What the draft actor does, without CAF: answers from an index of what was said, learns from
// lessons, and keeps silent about matches that turned out to be worth nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "engine/draft_exchange.hpp"
#include "engine/draft_limits.hpp"
#include "engine/suffix_index.hpp"
#include "schemas/draft.pb.h"

namespace troupe::actors {

class DraftDesk {
 public:
  explicit DraftDesk(size_t index_bytes_max) : index_(index_bytes_max) {}

  /// One answer a question, empty where nothing is known or the question is malformed.
  v1::Proposal on_propose(const v1::Propose& propose);
  v1::LessonReply on_lesson(const v1::Lesson& lesson);
  void on_feedback(const v1::Feedback& feedback);

  [[nodiscard]] const engine::SuffixIndex& index() const { return index_; }

 private:
  struct Record {
    double seen = 0, right = 0;
  };
  /// By class of the match's length.
  using Records = std::array<Record, engine::num_match_classes>;

  [[nodiscard]] bool is_worth_saying(const kv::BlockName& group, uint32_t match);

  engine::SuffixIndex index_;
  std::map<kv::BlockName, Records> records_;
  uint64_t silences_ = 0;
};

/// A lesson in messages of at most limits::lesson_tokens tokens, which overlap by a whole match.
std::vector<v1::Lesson> to_wire(const engine::DraftLesson& lesson);
v1::Propose to_wire(const std::vector<engine::DraftAsk>& asks);
v1::Feedback to_wire(const std::vector<engine::DraftTally>& tallies);
engine::DraftAnswer from_wire(const v1::DraftAnswer& answer);

}  // namespace troupe::actors
