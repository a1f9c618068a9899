#include "actors/draft.hpp"

namespace troupe::actors {

DraftActor::behavior_type draft(DraftActor::pointer, size_t index_bytes_max) {
  auto desk = std::make_shared<DraftDesk>(index_bytes_max);
  return {
      [desk](const v1::Propose& propose) { return desk->on_propose(propose); },
      [desk](const v1::Lesson& lesson) { return desk->on_lesson(lesson); },
      [desk](const v1::Feedback& feedback) { desk->on_feedback(feedback); },
  };
}

}  // namespace troupe::actors
