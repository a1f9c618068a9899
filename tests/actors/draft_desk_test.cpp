// What the draft actor answers, and what it makes of messages that make no sense.
#include "actors/draft_desk.hpp"

#include <doctest/doctest.h>

#include <random>

#include "actors/limits.hpp"
#include "schemas/convert.hpp"
#include "tests/support/sim_world.hpp"

using namespace troupe;
using namespace troupe::actors;
using troupe::testing::sim_tokens;

namespace {

using Tokens = std::vector<int32_t>;

kv::BlockName group_of(uint8_t tenant) {
  kv::BlockName name;
  name.bytes[3] = tenant;
  return name;
}

void teach(DraftDesk& desk, uint8_t tenant, const Tokens& tokens) {
  for (const v1::Lesson& lesson : to_wire(engine::DraftLesson{group_of(tenant), tokens})) {
    CHECK(lesson.ByteSizeLong() <= limits::part_bytes);
    desk.on_lesson(lesson);
  }
}

engine::DraftAnswer ask(DraftDesk& desk, uint8_t tenant, const Tokens& context,
                        uint32_t count = 10) {
  const auto propose =
      to_wire(std::vector<engine::DraftAsk>{{77, 1234, group_of(tenant), context, count}});
  const v1::Proposal proposal = desk.on_propose(propose);
  REQUIRE(proposal.answers_size() == 1);
  return from_wire(proposal.answers(0));
}

Tokens part(const Tokens& text, size_t begin, size_t end) {
  return {text.begin() + static_cast<std::ptrdiff_t>(begin),
          text.begin() + static_cast<std::ptrdiff_t>(end)};
}

TEST_CASE("answers with what followed, under the number of the question") {
  DraftDesk desk(size_t{1} << 20);
  const Tokens text = sim_tokens(500, 1, 5000);
  teach(desk, 1, text);
  const auto answer = ask(desk, 1, part(text, 100, 132));
  CHECK(answer.sequence == 77);
  CHECK(answer.position == 1234);
  CHECK(answer.match == 32);
  CHECK(answer.tokens == part(text, 132, 142));
  CHECK(ask(desk, 1, part(text, 100, 132), 1'000'000).tokens.size() == engine::limits::run_tokens);
  CHECK(ask(desk, 1, sim_tokens(32, 9, 5000)).match == 0);
}

TEST_CASE("tenant B hears nothing of what tenant A said") {
  DraftDesk desk(size_t{1} << 20);
  const Tokens secret = sim_tokens(500, 1, 5000);
  teach(desk, 1, secret);
  teach(desk, 2, sim_tokens(500, 2, 5000));
  for (size_t at = 32; at < 490; ++at) {
    CHECK(ask(desk, 1, part(secret, at - 32, at)).match == 32);
    CHECK(ask(desk, 2, part(secret, at - 32, at)).tokens.empty());
  }
}

TEST_CASE("a text of several lessons is known as one") {
  DraftDesk desk(size_t{8} << 20);
  const Tokens text = sim_tokens(3 * limits::lesson_tokens, 1, 50'000);
  teach(desk, 1, text);
  for (size_t at = 32; at + 1 < text.size(); at += 7) {
    const auto answer = ask(desk, 1, part(text, at - 32, at), 1);
    REQUIRE(answer.match == 32);
    REQUIRE(answer.tokens.at(0) == text[at]);
  }
}

TEST_CASE("what never comes true is said less and less often, until it does") {
  DraftDesk desk(size_t{1} << 20);
  const Tokens text = sim_tokens(500, 1, 5000);
  teach(desk, 1, text);
  const auto said = [&](uint32_t length) {
    int answers = 0;
    for (size_t i = 0; i < 160; ++i) {
      answers += ask(desk, 1, part(text, 100, 100 + length)).match > 0 ? 1 : 0;
    }
    return answers;
  };
  engine::DraftTally tally;
  tally.group = group_of(1);
  tally.seen[engine::match_class(4)] = 500;
  tally.right[engine::match_class(4)] = 10;
  CHECK(said(4) == 160);
  desk.on_feedback(to_wire({tally}));
  CHECK(said(4) == 10);
  CHECK(said(30) == 160);
  tally.right[engine::match_class(4)] = 480;
  desk.on_feedback(to_wire({tally}));
  CHECK(said(4) == 160);
}

TEST_CASE("messages of random content are answered and change nothing that they should not") {
  DraftDesk desk(100'000);
  const Tokens text = sim_tokens(500, 1, 5000);
  std::mt19937 random(3);
  const auto any_bytes = [&] {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  for (int i = 0; i < 2000; ++i) {
    v1::Propose propose;
    for (size_t n = random() % 4; n > 0; --n) {
      v1::DraftAsk& wire = *propose.add_asks();
      wire.set_group(random() % 2 == 0 ? any_bytes() : schemas::pack_name(group_of(1)));
      wire.set_count(static_cast<uint32_t>(random()));
      wire.set_position(static_cast<uint32_t>(random()));
      for (size_t k = random() % 50; k > 0; --k) {
        wire.add_context(static_cast<int32_t>(random()));
      }
    }
    const v1::Proposal proposal = desk.on_propose(propose);
    CHECK(proposal.answers_size() == propose.asks_size());
    v1::Lesson lesson;
    lesson.set_group(random() % 2 == 0 ? any_bytes() : schemas::pack_name(group_of(1)));
    for (size_t k = random() % 50; k > 0; --k) lesson.add_tokens(static_cast<int32_t>(random()));
    CHECK(desk.on_lesson(lesson).bytes() <= 100'000);
    v1::Feedback feedback;
    v1::DraftFeedback& told = *feedback.add_groups();
    told.set_group(random() % 2 == 0 ? any_bytes() : schemas::pack_name(group_of(2)));
    for (size_t k = random() % 9; k > 0; --k) told.add_seen(static_cast<uint32_t>(random()));
    for (size_t k = random() % 9; k > 0; --k) told.add_right(static_cast<uint32_t>(random()));
    desk.on_feedback(feedback);
  }
  teach(desk, 1, text);
  CHECK(ask(desk, 1, part(text, 100, 132)).tokens == part(text, 132, 142));
}

TEST_CASE("one message asks only so much") {
  DraftDesk desk(size_t{1} << 20);
  v1::Propose propose;
  for (size_t i = 0; i < limits::draft_asks_max + 100; ++i) propose.add_asks();
  CHECK(desk.on_propose(propose).answers_size() == static_cast<int>(limits::draft_asks_max));
}

}  // namespace
