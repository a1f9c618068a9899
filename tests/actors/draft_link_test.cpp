// A worker's line to the draft actor: prompt, slow, silent, restarted.
#include "actors/draft_link.hpp"

#include <doctest/doctest.h>

#include "actors/draft_desk.hpp"
#include "actors/limits.hpp"
#include "tests/support/sim_world.hpp"

using namespace troupe;
using namespace troupe::actors;
using namespace troupe::testing;

namespace {

/// A worker's engine with its line; what was sent waits until the test answers.
struct Line {
  Line() {
    DraftPorts ports;
    ports.propose = [this](uint64_t number, const v1::Propose& wire) {
      proposes.emplace_back(number, wire);
    };
    ports.teach = [this](uint64_t number, const v1::Lesson& wire) {
      lessons.emplace_back(number, wire);
    };
    ports.feedback = [this](const v1::Feedback& wire) { feedbacks.push_back(wire); };
    link.emplace(*world.engine, std::move(ports));
  }

  bool step(const std::function<void()>& while_it_runs) {
    if (!world.engine->has_work()) return false;
    engine::StepPlan plan = world.engine->plan();
    link->on_submitted();
    while_it_runs();
    world.take(plan.spans.empty() ? world.engine->accept({plan.step, {}, 0})
                                  : world.engine->accept(world.compute(std::move(plan))));
    link->pump();
    return true;
  }

  SimWorld world;
  std::vector<std::pair<uint64_t, v1::Propose>> proposes;
  std::vector<std::pair<uint64_t, v1::Lesson>> lessons;
  std::vector<v1::Feedback> feedbacks;
  std::optional<DraftLink> link;
};

void serve(Line& line, DraftDesk& desk) {
  while (!line.lessons.empty()) {
    const auto [number, lesson] = line.lessons.back();
    line.lessons.pop_back();
    desk.on_lesson(lesson);
    line.link->on_taught(number, {});
    line.link->pump();
  }
  while (!line.proposes.empty()) {
    const auto [number, propose] = line.proposes.back();
    line.proposes.pop_back();
    line.link->on_proposal(number, desk.on_propose(propose));
  }
}

const engine::SequenceSpec& spec() {
  static const engine::SequenceSpec one = sim_spec(sim_tokens(200, 1), 250, 5);
  return one;
}
const SimOutput& plain() {
  static const SimOutput output = sim_plain(spec());
  return output;
}

TEST_CASE("two workers share what they know through one actor") {
  DraftDesk desk(size_t{8} << 20);
  Line first, second;
  for (Line* line : {&first, &second}) {
    line->link->set_present(true);
    const auto id = line->world.add(spec());
    while (line->step([&] { serve(*line, desk); })) {
    }
    serve(*line, desk);
    line->link->on_tick();
    CHECK(line->world.outputs[id].same_text(plain()));
  }
  CHECK(second.world.engine->stats().steps * 3 < first.world.engine->stats().steps);
  CHECK(second.feedbacks.size() == 1);
  CHECK(desk.index().num_tokens() >= 450);
  CHECK(desk.index().num_tokens() <= 450 + 64);
}

TEST_CASE("an actor that never answers is asked once, and the text goes on") {
  Line line;
  line.link->set_present(true);
  const auto id = line.world.add(spec());
  while (line.step([] {})) {
  }
  CHECK(line.proposes.size() == 1);
  CHECK(line.lessons.size() == 1);
  CHECK(line.world.outputs[id].same_text(plain()));
  // When the time is over, the next step asks again.
  line.link->on_proposal(line.proposes[0].first, error(Code::timeout, "no answer"));
  line.link->on_taught(line.lessons[0].first, error(Code::timeout, "no answer"));
  line.world.add(spec());
  line.step([] {});
  CHECK(line.proposes.size() == 2);
  CHECK(line.lessons.size() == 2);
}

TEST_CASE("answers that come steps later change nothing") {
  DraftDesk desk(size_t{8} << 20);
  Line teacher;
  teacher.link->set_present(true);
  teacher.world.add(spec());
  while (teacher.step([&] { serve(teacher, desk); })) {
  }
  serve(teacher, desk);
  for (const int delay : {1, 2, 7, 40}) {
    CAPTURE(delay);
    Line line;
    line.link->set_present(true);
    const auto id = line.world.add(spec());
    int steps = 0;
    while (line.step([&] {
      if (++steps % delay == 0) serve(line, desk);
    })) {
    }
    CHECK(line.world.outputs[id].same_text(plain()));
    line.world.check_all_free();
  }
}

TEST_CASE("what an earlier actor still answers is dropped") {
  Line line;
  line.link->set_present(true);
  line.world.add(spec());
  line.step([] {});
  REQUIRE(line.proposes.size() == 1);
  const auto [old_number, old] = line.proposes[0];
  line.link->set_present(false);
  line.step([] {});
  CHECK(line.proposes.size() == 1);
  line.link->set_present(true);
  line.step([] {});
  REQUIRE(line.proposes.size() == 2);
  v1::Proposal absurd;
  absurd.add_answers()->set_match(7);
  line.link->on_proposal(old_number, absurd);
  line.step([] {});
  // Still the second question is open, so there is no third.
  CHECK(line.proposes.size() == 2);
}

TEST_CASE("lessons for an actor that is slow are bounded") {
  Line line;
  line.link->set_present(true);
  for (uint32_t i = 0; i < 2 * limits::lessons_held_max; ++i) {
    const auto id = line.world.add(sim_spec(sim_tokens(50, i), 5));
    line.world.cancel(id);
    line.link->pump();
  }
  uint32_t taught = 0;
  while (!line.lessons.empty()) {
    const uint64_t number = line.lessons.back().first;
    line.lessons.pop_back();
    ++taught;
    line.link->on_taught(number, {});
    line.link->pump();
  }
  CHECK(taught == 1 + limits::lessons_held_max);
}

}  // namespace
