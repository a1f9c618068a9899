#include "actors/resume_point.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "schemas/convert.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

ResumePoint resume_point(uint32_t choices = 1) {
  v1::PreparedRequest prepared;
  prepared.set_request_id(9);
  for (int32_t token : {1, 2, 3}) prepared.add_prompt(token);
  prepared.set_root(std::string(16, 'r'));
  prepared.mutable_sampling()->set_seed(77);
  GenerateRequest request;
  request.choices = choices;
  request.stop = {"stop"};
  request.drafts = false;
  return {prepared, request};
}

v1::Placement placement(const std::string& prefill = "") {
  v1::Placement placed;
  placed.mutable_prefill()->set_name(prefill);
  return placed;
}

v1::Delta delta(uint32_t attempt, uint32_t first, std::vector<int32_t> tokens, std::string text,
                uint32_t choice = 0, const std::string& finish = "") {
  v1::Delta made;
  made.set_request_id(9);
  made.set_attempt(attempt);
  made.set_choice(choice);
  made.set_first_index(first);
  for (int32_t token : tokens) {
    made.add_tokens(token);
    made.add_logprob_bits(std::bit_cast<uint32_t>(-0.5f * static_cast<float>(token)));
  }
  made.set_text(std::move(text));
  made.set_finish(finish);
  return made;
}

}  // namespace

TEST_CASE("a start request says everything that the next worker needs") {
  ResumePoint resume = resume_point();
  const v1::StartRequest first = resume.next_attempt(placement("p"), 55);
  CHECK(first.request_id() == 9);
  CHECK(first.attempt() == 1);
  CHECK(first.prompt_size() == 3);
  CHECK(first.sampling().seed() == 77);
  CHECK(first.stop(0) == "stop");
  CHECK(first.root() == std::string(16, 'r'));
  CHECK_FALSE(first.drafts());
  CHECK(first.session() == 55);
  CHECK(first.prefill_tokens() == 3);
  (void)resume.accept(delta(1, 0, {10, 11}, "ab"));
  CHECK(resume.prefill_tokens() == std::vector<int32_t>{1, 2, 3, 10, 11});
  CHECK(resume.num_tokens() == 5);
  const v1::StartRequest second = resume.next_attempt(placement(), 56);
  CHECK(second.attempt() == 2);
  CHECK(second.session() == 0);
  REQUIRE(second.choices_size() == 1);
  CHECK(second.choices(0).output_size() == 2);
  CHECK(second.prompt_size() == 3);
}

TEST_CASE("deltas of other attempts, of unknown choices and those held already are dropped") {
  ResumePoint resume = resume_point();
  (void)resume.next_attempt(placement(), 1);
  (void)resume.next_attempt(placement(), 2);
  for (const v1::Delta& stale :
       {delta(1, 0, {10}, "a"), delta(3, 0, {10}, "a"), delta(2, 0, {10}, "a", 1)}) {
    const auto accepted = resume.accept(stale);
    CHECK_FALSE(accepted.gap);
    CHECK(accepted.delta.tokens.empty());
    CHECK(resume.choices()[0].text.empty());
  }
  const auto accepted = resume.accept(delta(2, 0, {10, 11}, "ab"));
  CHECK(accepted.delta.tokens == std::vector<int32_t>{10, 11});
  CHECK(accepted.delta.logprobs == std::vector<float>{-5.0f, -5.5f});
  for (const v1::Delta& held : {delta(2, 0, {10, 11}, "ab"), delta(2, 1, {11}, "b")}) {
    const auto again = resume.accept(held);
    CHECK_FALSE(again.gap);
    CHECK(again.delta.tokens.empty());
  }
  CHECK(resume.choices()[0].text == "ab");
}

TEST_CASE("a missing delta is noticed, and so are tokens without log-probabilities") {
  ResumePoint resume = resume_point();
  (void)resume.next_attempt(placement(), 1);
  CHECK(resume.accept(delta(1, 1, {10}, "a")).gap);
  v1::Delta lame = delta(1, 0, {10}, "a");
  lame.clear_logprob_bits();
  CHECK(resume.accept(lame).gap);
  CHECK(resume.choices()[0].token_ids.empty());
}

TEST_CASE("alternatives keep their bits") {
  ResumePoint resume = resume_point();
  (void)resume.next_attempt(placement(), 1);
  v1::Delta with_top = delta(1, 0, {10, 11}, "ab");
  with_top.add_top_logprobs();
  v1::TopLogprob* entry = with_top.add_top_logprobs()->add_entries();
  entry->set_token(4);
  entry->set_logprob_bits(std::bit_cast<uint32_t>(-1e-40f));
  const auto accepted = resume.accept(with_top);
  REQUIRE(accepted.delta.top_logprobs.size() == 2);
  CHECK(accepted.delta.top_logprobs[0].empty());
  CHECK(accepted.delta.top_logprobs[1].at(0).first == 4);
  CHECK(accepted.delta.top_logprobs[1].at(0).second == -1e-40f);
}

TEST_CASE("choices end one by one; only those that go on are started again") {
  ResumePoint resume = resume_point(3);
  (void)resume.next_attempt(placement(), 1);
  (void)resume.accept(delta(1, 0, {10}, "a", 0));
  CHECK(resume.accept(delta(1, 0, {20}, "b", 1, "length")).choice_finished);
  CHECK_FALSE(resume.all_finished());
  // With several choices a prefill worker gets the prompt that they share.
  CHECK(resume.prefill_tokens() == std::vector<int32_t>{1, 2, 3});
  const v1::StartRequest next = resume.next_attempt(placement(), 2);
  REQUIRE(next.choices_size() == 2);
  CHECK(next.choices(0).choice() == 0);
  CHECK(next.choices(0).output_size() == 1);
  CHECK(next.choices(1).choice() == 2);
  // A finished choice takes nothing more.
  CHECK(resume.accept(delta(2, 1, {21}, "c", 1)).delta.tokens.empty());
  CHECK(resume.accept(delta(2, 1, {}, "", 0, "stop")).choice_finished);
  CHECK(resume.accept(delta(2, 0, {30}, "z", 2, "stop")).choice_finished);
  CHECK(resume.all_finished());
  CHECK(resume.choices()[1].finish_reason == "length");
}

TEST_CASE("what a worker gives up is a failure, not an end") {
  ResumePoint resume = resume_point();
  (void)resume.next_attempt(placement(), 1);
  v1::Delta failed = delta(1, 0, {}, "", 0, "failed");
  *failed.mutable_failure() = schemas::to_wire(error(Code::unavailable, "shutting down"));
  const auto accepted = resume.accept(failed);
  REQUIRE(accepted.failure.has_value());
  CHECK(accepted.failure->code == Code::unavailable);
  CHECK_FALSE(resume.all_finished());
}

TEST_CASE("stats of the attempts are summed where that means something") {
  ResumePoint resume = resume_point(2);
  const auto end_with = [&](uint32_t attempt, uint32_t choice, const std::string& finish,
                            uint32_t cached, uint32_t moved, const std::string& transport) {
    v1::Delta last = delta(attempt, 0, {}, "", choice, finish);
    if (finish == "failed")
      *last.mutable_failure() = schemas::to_wire(error(Code::unavailable, "x"));
    v1::ChoiceStats* stats = last.mutable_stats();
    stats->set_cached_tokens(cached);
    stats->set_blocks_moved(moved);
    stats->set_bytes_moved(moved * 1000);
    stats->set_transfer_us(moved * 10);
    stats->set_handover_us(moved * 20);
    stats->set_transport(transport);
    stats->set_drafted(5);
    stats->set_accepted(3);
    (void)resume.accept(last);
  };
  (void)resume.next_attempt(placement(), 1);
  end_with(1, 0, "failed", 64, 3, "tcp");
  (void)resume.next_attempt(placement(), 2);
  end_with(2, 0, "stop", 128, 2, "shared_memory");
  end_with(2, 1, "stop", 0, 0, "");
  CHECK(resume.stats().cached_tokens() == 128);
  CHECK(resume.stats().blocks_moved() == 5);
  CHECK(resume.stats().bytes_moved() == 5000);
  CHECK(resume.stats().transfer_us() == 50);
  CHECK(resume.stats().handover_us() == 100);
  CHECK(resume.stats().transport() == "shared_memory");
  CHECK(resume.choices()[0].drafted == 10);
  CHECK(resume.choices()[0].accepted == 6);
}

TEST_CASE("stats of an attempt that ended in a death count, and each only once") {
  ResumePoint resume = resume_point();
  const auto hear = [&](uint32_t attempt, uint32_t first, uint32_t moved, uint32_t drafted) {
    v1::Delta news = delta(attempt, first, {static_cast<int32_t>(first)}, "x");
    news.mutable_stats()->set_blocks_moved(moved);
    news.mutable_stats()->set_drafted(drafted);
    (void)resume.accept(news);
  };
  (void)resume.next_attempt(placement("p"), 1);
  hear(1, 0, 3, 2);
  hear(1, 1, 3, 4);
  (void)resume.accept(delta(1, 2, {2}, "x"));
  CHECK(resume.stats().blocks_moved() == 3);
  // The worker dies here without a last word.
  (void)resume.next_attempt(placement("q"), 2);
  CHECK(resume.stats().blocks_moved() == 3);
  hear(2, 3, 5, 1);
  CHECK(resume.stats().blocks_moved() == 8);
  v1::Delta last = delta(2, 4, {}, "", 0, "stop");
  last.mutable_stats()->set_blocks_moved(5);
  last.mutable_stats()->set_drafted(1);
  (void)resume.accept(last);
  CHECK(resume.stats().blocks_moved() == 8);
  CHECK(resume.choices()[0].drafted == 5);
}

TEST_CASE("a choice that moves goes on elsewhere, a cluster that closes is the end") {
  for (const std::string finish : {"moved", "closing"}) {
    ResumePoint resume = resume_point();
    (void)resume.next_attempt(placement(), 1);
    v1::Delta last = delta(1, 0, {10}, "a", 0, finish);
    *last.mutable_failure() = schemas::to_wire(error(Code::unavailable, "drains"));
    const auto accepted = resume.accept(last);
    REQUIRE(accepted.failure.has_value());
    CHECK(accepted.closing == (finish == "closing"));
    CHECK(accepted.delta.tokens == std::vector<int32_t>{10});
    CHECK_FALSE(resume.all_finished());
  }
}
