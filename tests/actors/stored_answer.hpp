// What tests of a store between workers share.
#pragma once

#include "tests/actors/plain_answer.hpp"

namespace troupe::testing {

inline constexpr size_t block_bytes = 4096;  // of the simulated device

inline WorldRequest request_of(size_t prompt_tokens, uint32_t seed = 3) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, seed, 256);
  return request;
}

/// Two workers; one computes, another is asked afterwards.
struct TwoWorkers : WorkerWorld {
  explicit TwoWorkers(uint32_t seed, const WorkerSpec& spec) : WorkerWorld(seed) {
    add_worker("a", spec);
    add_worker("b", spec);
  }
  /// Lets a worker answer; everything that follows from it happens too.
  WorldClient& ask(const std::string& name, const WorldRequest& request, uint32_t from_store = 0) {
    fetch_blocks = from_store;
    WorldClient& client = add_client(request);
    start(client, name);
    run();
    return client;
  }
};

inline void check_plain(const WorldClient& client, const WorldRequest& request) {
  for (uint32_t i = 0; i < request.choices; ++i) {
    check_same(client.choice(i), plain_answer(request, i));
  }
  CHECK(client.failures.empty());
}

/// "b" read the first `blocks` of the prompt and computed the rest.
inline void check_read(TwoWorkers& world, const WorldClient& client, const WorldRequest& request,
                       uint32_t blocks) {
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == blocks * 64);
  CHECK(client.resume.stats().blocks_moved() == blocks);
  const WorldWorker& reader = world.worker("b");
  CHECK(reader.engine.stats().prefill_tokens == request.prompt.size() - size_t{blocks} * 64);
  CHECK(reader.logic.load(0).blocks_fetched() == blocks);
}

}  // namespace troupe::testing
