#include "tests/sim/liar.hpp"

namespace troupe::sim {
namespace {

v1::Proposal invent(const v1::Propose& asked, Random& random, int32_t vocab) {
  v1::Proposal proposal;
  for (const v1::DraftAsk& ask : asked.asks()) {
    for (uint64_t times = random.below(3); times > 0; --times) {
      v1::DraftAnswer& answer = *proposal.add_answers();
      answer.set_sequence(random.chance(0.9) ? ask.sequence() : random.next());
      const auto shift = static_cast<uint32_t>(random.below(4));
      answer.set_position(random.chance(0.8) ? ask.position() : ask.position() - 2 + shift);
      answer.set_match(static_cast<uint32_t>(random.below(40)));
      const uint64_t count = random.chance(0.1) ? random.below(600) : random.below(20);
      for (uint64_t i = 0; i < count; ++i) {
        const auto wild = static_cast<int32_t>(random.next());
        const auto likely = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
        answer.add_tokens(random.chance(0.1) ? wild : likely);
      }
    }
  }
  return proposal;
}

}  // namespace

caf::behavior late_teller(caf::event_based_actor*) {
  return {[](const actors::Closure& closure) { (*closure.run)(); }};
}

actors::DraftActor::behavior_type liar(actors::DraftActor::pointer self, Random* random,
                                       int32_t vocab, caf::actor helper) {
  using Promise = caf::typed_response_promise<v1::Proposal>;
  return {
      [self, random, vocab, helper](const v1::Propose& asked) -> caf::result<v1::Proposal> {
        v1::Proposal proposal = invent(asked, *random, vocab);
        if (random->chance(0.5)) return proposal;
        auto promise = std::make_shared<Promise>(self->make_response_promise<Promise>());
        if (random->chance(0.2)) return *promise;  // never
        auto run = [promise, proposal] { promise->deliver(proposal); };
        caf::delayed_anon_send(helper, std::chrono::milliseconds(random->between(0, 8000)),
                               actors::Closure{std::make_shared<std::function<void()>>(run)});
        return *promise;
      },
      [random](const v1::Lesson&) {
        v1::LessonReply reply;
        reply.set_tokens(random->next());
        return reply;
      },
      [](const v1::Feedback&) {},
      [](const v1::Ping& ping) { return actors::pong_of(ping); },
  };
}

}  // namespace troupe::sim
