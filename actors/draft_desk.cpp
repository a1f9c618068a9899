#include "actors/draft_desk.hpp"

#include <algorithm>

#include "actors/limits.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

/// What fewer than this share of the tokens came true of is not said, once so many were tried...
constexpr double worth_min = 0.15;
constexpr double tried_min = 64;
/// ...but for one time in this many, to notice when it changes.
constexpr uint64_t retry_every = 16;
/// Older feedback counts for less: a report of n tokens fades those before it by n in so many.
constexpr double feedback_memory = 2000;

}  // namespace

bool DraftDesk::is_worth_saying(const kv::BlockName& group, uint32_t match) {
  const auto found = records_.find(group);
  if (found == records_.end()) return true;
  const Record& record = found->second[engine::match_class(match)];
  if (record.seen < tried_min || record.right >= worth_min * record.seen) return true;
  return ++silences_ % retry_every == 0;
}

v1::Proposal DraftDesk::on_propose(const v1::Propose& propose) {
  v1::Proposal proposal;
  const int count = std::min(propose.asks_size(), static_cast<int>(limits::draft_asks_max));
  for (int i = 0; i < count; ++i) {
    const v1::DraftAsk& ask = propose.asks(i);
    v1::DraftAnswer& answer = *proposal.add_answers();
    answer.set_sequence(ask.sequence());
    answer.set_position(ask.position());
    const auto group = schemas::unpack_name(ask.group());
    if (!group) continue;
    const std::span<const int32_t> context(ask.context().data(),
                                           static_cast<size_t>(ask.context_size()));
    const uint32_t wanted = std::min(ask.count(), engine::limits::run_tokens);
    const engine::SuffixMatch match = index_.find(*group, context, wanted);
    if (match.length == 0 || !is_worth_saying(*group, match.length)) continue;
    answer.set_match(match.length);
    answer.mutable_tokens()->Add(match.next.begin(), match.next.end());
  }
  return proposal;
}

v1::LessonReply DraftDesk::on_lesson(const v1::Lesson& lesson) {
  if (const auto group = schemas::unpack_name(lesson.group())) {
    const auto count = std::min(static_cast<size_t>(lesson.tokens_size()), limits::lesson_tokens);
    index_.learn(*group, std::span<const int32_t>(lesson.tokens().data(), count));
  }
  v1::LessonReply reply;
  reply.set_documents(index_.num_documents());
  reply.set_tokens(index_.num_tokens());
  reply.set_bytes(index_.bytes());
  return reply;
}

void DraftDesk::on_feedback(const v1::Feedback& feedback) {
  for (const v1::DraftFeedback& told : feedback.groups()) {
    const auto group = schemas::unpack_name(told.group());
    if (!group || told.seen_size() != told.right_size()) continue;
    if (!records_.contains(*group) && records_.size() >= engine::limits::index_groups_max) {
      records_.clear();
    }
    Records& records = records_[*group];
    const size_t classes = std::min(static_cast<size_t>(told.seen_size()), records.size());
    for (size_t i = 0; i < classes; ++i) {
      const double seen = told.seen(static_cast<int>(i));
      const double right = std::min<double>(told.right(static_cast<int>(i)), seen);
      const double keep = std::max(0.0, 1.0 - seen / feedback_memory);
      records[i].seen = records[i].seen * keep + std::min(seen, feedback_memory);
      records[i].right = records[i].right * keep +
                         (seen > feedback_memory ? right * feedback_memory / seen : right);
    }
  }
}

std::vector<v1::Lesson> to_wire(const engine::DraftLesson& lesson) {
  std::vector<v1::Lesson> pieces;
  constexpr size_t overlap = engine::limits::match_tokens_max;
  for (size_t begin = 0; begin == 0 || begin + overlap < lesson.tokens.size();
       begin += limits::lesson_tokens - overlap) {
    v1::Lesson& piece = pieces.emplace_back();
    piece.set_group(schemas::pack_name(lesson.group));
    const size_t end = std::min(begin + limits::lesson_tokens, lesson.tokens.size());
    const auto tokens = lesson.tokens.begin();
    piece.mutable_tokens()->Add(tokens + static_cast<std::ptrdiff_t>(begin),
                                tokens + static_cast<std::ptrdiff_t>(end));
  }
  return pieces;
}

v1::Propose to_wire(const std::vector<engine::DraftAsk>& asks) {
  v1::Propose propose;
  for (const engine::DraftAsk& ask : asks) {
    if (static_cast<size_t>(propose.asks_size()) == limits::draft_asks_max) break;
    v1::DraftAsk& wire = *propose.add_asks();
    wire.set_sequence(ask.sequence);
    wire.set_position(ask.position);
    wire.set_group(schemas::pack_name(ask.group));
    wire.mutable_context()->Add(ask.context.begin(), ask.context.end());
    wire.set_count(ask.count);
  }
  return propose;
}

v1::Feedback to_wire(const std::vector<engine::DraftTally>& tallies) {
  v1::Feedback feedback;
  for (const engine::DraftTally& tally : tallies) {
    v1::DraftFeedback& wire = *feedback.add_groups();
    wire.set_group(schemas::pack_name(tally.group));
    wire.mutable_seen()->Add(tally.seen.begin(), tally.seen.end());
    wire.mutable_right()->Add(tally.right.begin(), tally.right.end());
  }
  return feedback;
}

engine::DraftAnswer from_wire(const v1::DraftAnswer& answer) {
  const auto count =
      std::min(answer.tokens_size(), static_cast<int>(engine::limits::run_tokens_max));
  return {answer.sequence(),
          answer.position(),
          answer.match(),
          {answer.tokens().begin(), answer.tokens().begin() + count}};
}

}  // namespace troupe::actors
