#include "engine/shared_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/sim_world.hpp"

namespace troupe::engine {
namespace {

using testing::sim_tokens;
using Tokens = std::vector<int32_t>;

Tokens part(const Tokens& text, size_t begin, size_t count) {
  begin = std::min(begin, text.size());
  count = std::min(count, text.size() - begin);
  const auto first = text.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

TEST_CASE("asks while a step runs, and drafts from the answer while it comes true") {
  const Tokens text = sim_tokens(400, 1);
  Tokens tokens = part(text, 0, 100);
  SharedRun run;
  uint32_t asked = 0, steps = 0, drafted_total = 0;
  while (tokens.size() < 390) {
    run.follow(tokens);
    const Tokens drafted = part({run.guess().begin(), run.guess().end()}, 0, 8);
    if (const auto question = run.ask(tokens, drafted)) {
      ++asked;
      CHECK(question->context.size() == limits::match_tokens_max);
      CHECK(question->context ==
            part(text, question->position - limits::match_tokens_max, limits::match_tokens_max));
      run.answer(tokens, question->position, 32,
                 part(text, question->position, limits::run_tokens));
    }
    drafted_total += static_cast<uint32_t>(drafted.size());
    for (size_t i = 0; i < drafted.size(); ++i) CHECK(drafted[i] == text[tokens.size() + i]);
    tokens = part(text, 0, tokens.size() + drafted.size() + 1);
    ++steps;
  }
  // The first step has no answer yet; from then on all are full, and few of them ask.
  CHECK(steps <= 1 + 290 / 9 + 1);
  CHECK(drafted_total >= (steps - 1) * 8 - 8);
  CHECK(asked <= 290 / limits::run_refill_tokens + 2);
  const auto outcomes = run.take_outcomes();
  CHECK(outcomes.size() >= 280);
  CHECK(std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.right; }));
  CHECK(run.take_outcomes().empty());
}

TEST_CASE("useless answers make questions rare, a useful one brings them back") {
  SharedRun run;
  Tokens tokens = sim_tokens(50, 1);
  uint32_t asked = 0;
  for (int i = 0; i < 200; ++i) {
    if (const auto question = run.ask(tokens, {})) {
      ++asked;
      if (i % 2 == 0) {
        run.answer(tokens, question->position, 0, {});
      } else {
        run.answer(tokens, question->position, 3, Tokens{5000, 5001});
      }
    }
    tokens.push_back(i);
  }
  CHECK(asked <= 200 / limits::ask_interval_max + 8);
  CHECK(asked >= 200 / limits::ask_interval_max);
  std::optional<SharedRun::Question> question;
  while (!(question = run.ask(tokens, {}))) tokens.push_back(1);
  run.answer(tokens, question->position, 20, Tokens{1, 2, 3, 4, 5, 9999});
  tokens.insert(tokens.end(), {1, 2, 3, 4, 5, 6});
  CHECK(run.ask(tokens, {}).has_value());
}

TEST_CASE("an answer to another question is dropped") {
  SharedRun run;
  Tokens tokens = sim_tokens(50, 1);
  run.answer(tokens, 50, 9, Tokens{1, 2, 3});
  run.follow(tokens);
  CHECK(run.guess().empty());
  const auto question = run.ask(tokens, {});
  REQUIRE(question.has_value());
  run.answer(tokens, question->position + 1, 9, Tokens{1, 2, 3});
  CHECK(run.guess().empty());
  run.answer(tokens, question->position, 9, Tokens{1, 2, 3});
  CHECK(run.guess().size() == 3);
  // Once is enough.
  run.answer(tokens, question->position, 9, Tokens{4, 5, 6, 7});
  CHECK(run.guess().size() == 3);
}

TEST_CASE("a late answer is worth what is left of it") {
  SharedRun run;
  Tokens tokens = sim_tokens(50, 1);
  const auto question = run.ask(tokens, {});
  REQUIRE(question.has_value());
  tokens.insert(tokens.end(), {7, 8, 9});
  run.follow(tokens);
  SUBCASE("it foresaw what was drawn") {
    run.answer(tokens, question->position, 12, Tokens{7, 8, 9, 10, 11});
    CHECK(Tokens(run.guess().begin(), run.guess().end()) == Tokens{10, 11});
    CHECK(run.length() == 15);
  }
  SUBCASE("it did not") {
    run.answer(tokens, question->position, 12, Tokens{7, 8, 10, 10, 11});
    CHECK(run.guess().empty());
  }
  SUBCASE("it is shorter than what was drawn") {
    run.answer(tokens, question->position, 12, Tokens{7, 8});
    CHECK(run.guess().empty());
  }
}

TEST_CASE("a question assumes that the drafts come true; where they do not, the answer is void") {
  SharedRun run;
  Tokens tokens = sim_tokens(50, 1);
  const auto question = run.ask(tokens, {60, 61});
  REQUIRE(question.has_value());
  CHECK(question->position == 52);
  CHECK(question->context.back() == 61);
  SUBCASE("they do") {
    tokens.insert(tokens.end(), {60, 61, 62});
    run.follow(tokens);
    run.answer(tokens, 52, 32, Tokens{62, 63, 64});
    CHECK(Tokens(run.guess().begin(), run.guess().end()) == Tokens{63, 64});
    const auto outcomes = run.take_outcomes();
    REQUIRE(outcomes.size() == 1);  // the drafts were no answer of the actor's
    CHECK(outcomes[0].right);
  }
  SUBCASE("they do not") {
    tokens.insert(tokens.end(), {60, 99});
    run.follow(tokens);
    run.answer(tokens, 52, 32, Tokens{62, 63, 64});
    CHECK(run.guess().empty());
    CHECK(run.take_outcomes().empty());
    CHECK(run.ask(tokens, {}).has_value());
  }
}

TEST_CASE("of an endless answer only so much is kept") {
  SharedRun run;
  const Tokens tokens = sim_tokens(50, 1);
  const auto question = run.ask(tokens, {});
  REQUIRE(question.has_value());
  run.answer(tokens, question->position, 5, Tokens(100'000, 3));
  CHECK(run.guess().size() == limits::run_tokens_max);
}

}  // namespace
}  // namespace troupe::engine
