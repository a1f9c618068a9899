// What one undisturbed worker answers: the yardstick of the other tests.
#pragma once

#include "tests/actors/worker_world.hpp"

namespace troupe::testing {

/// What one worker alone answers.
inline actors::ChoiceResult plain_answer(const WorldRequest& request, uint32_t choice = 0) {
  WorkerWorld world;
  world.add_worker("alone");
  WorldClient& client = world.add_client(request);
  world.start(client, "alone");
  world.run();
  world.check_all_free();
  return client.choice(choice);
}

inline void check_same(const actors::ChoiceResult& got, const actors::ChoiceResult& expected) {
  CHECK(got.token_ids == expected.token_ids);
  CHECK(got.logprobs == expected.logprobs);
  CHECK(got.text == expected.text);
  CHECK(got.finish_reason == expected.finish_reason);
}

}  // namespace troupe::testing
