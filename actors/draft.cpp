#include "actors/draft.hpp"

#include <algorithm>

namespace troupe::actors {
namespace {

void count(Metrics& metrics, const v1::Proposal& proposal) {
  const auto& answers = proposal.answers();
  metrics.add(v1::METRIC_DRAFT_QUESTIONS, static_cast<uint64_t>(answers.size()));
  const auto is_told = [](const v1::DraftAnswer& answer) { return answer.tokens_size() > 0; };
  metrics.add(v1::METRIC_DRAFT_ANSWERS,
              static_cast<uint64_t>(std::count_if(answers.begin(), answers.end(), is_told)));
}

void count(Metrics& metrics, const v1::LessonReply& reply) {
  metrics.add(v1::METRIC_DRAFT_LESSONS);
  metrics.set(v1::METRIC_DRAFT_INDEX_TOKENS, reply.tokens());
  metrics.set(v1::METRIC_DRAFT_INDEX_BYTES, reply.bytes());
}

}  // namespace

DraftActor::behavior_type draft(DraftActor::pointer, size_t index_bytes_max,
                                std::shared_ptr<Metrics> metrics) {
  auto desk = std::make_shared<DraftDesk>(index_bytes_max);
  return {
      [desk, metrics](const v1::Propose& propose) {
        v1::Proposal proposal = desk->on_propose(propose);
        count(*metrics, proposal);
        return proposal;
      },
      [desk, metrics](const v1::Lesson& lesson) {
        v1::LessonReply reply = desk->on_lesson(lesson);
        count(*metrics, reply);
        return reply;
      },
      [desk](const v1::Feedback& feedback) { desk->on_feedback(feedback); },
      [](const v1::Ping& ping) { return pong_of(ping); },
  };
}

}  // namespace troupe::actors
