#include "actors/draft_link.hpp"

#include "actors/draft_desk.hpp"
#include "actors/limits.hpp"

namespace troupe::actors {

void DraftLink::set_present(bool present) {
  present_ = present;
  asked_.reset();
  taught_.reset();
  lessons_.clear();
  engine_.set_draft_actor(present);
}

void DraftLink::on_submitted() {
  if (!present_ || asked_.has_value()) return;
  const v1::Propose propose = to_wire(engine_.draft_asks());
  if (propose.asks_size() == 0) return;
  asked_ = ++last_number_;
  ports_.propose(*asked_, propose);
}

void DraftLink::on_proposal(uint64_t number, const Result<v1::Proposal>& proposal) {
  if (asked_ != number) return;
  asked_.reset();
  if (!proposal) return;
  for (const v1::DraftAnswer& answer : proposal->answers()) {
    engine_.take_draft_answer(from_wire(answer));
  }
}

void DraftLink::on_taught(uint64_t number, const Status& status) {
  if (taught_ != number) return;
  taught_.reset();
  // An actor that does not answer in time would not learn the rest either.
  if (!status) lessons_.clear();
}

void DraftLink::pump() {
  if (!present_) return;
  for (const engine::DraftLesson& lesson : engine_.take_draft_lessons()) {
    for (v1::Lesson& piece : to_wire(lesson)) {
      if (lessons_.size() < limits::lessons_held_max) lessons_.push_back(std::move(piece));
    }
  }
  if (taught_.has_value() || lessons_.empty()) return;
  taught_ = ++last_number_;
  const v1::Lesson lesson = std::move(lessons_.front());
  lessons_.pop_front();
  ports_.teach(*taught_, lesson);
}

void DraftLink::on_tick() {
  if (!present_) return;
  const v1::Feedback feedback = to_wire(engine_.take_draft_tallies());
  if (feedback.groups_size() > 0) ports_.feedback(feedback);
}

}  // namespace troupe::actors
