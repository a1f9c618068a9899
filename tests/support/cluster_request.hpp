// A request that runs while the test does something else.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "tests/support/cluster_fixture.hpp"

namespace troupe::testing {

class RunningRequest {
 public:
  RunningRequest(actors::Client& client, actors::GenerateRequest request)
      : client_(client), result_(shared_->promise.get_future()) {
    actors::GenerateHandlers handlers;
    handlers.on_delta = [shared = shared_](const actors::ClientDelta& delta) {
      shared->text += delta.text;
      shared->tokens += static_cast<uint32_t>(delta.tokens.size());
    };
    handlers.on_end = [shared = shared_](Result<actors::GenerateResult> result) {
      shared->promise.set_value(std::move(result));
    };
    id_ = client.generate(std::move(request), std::move(handlers));
  }

  /// Tokens that came so far, all choices together.
  [[nodiscard]] uint32_t tokens() const { return shared_->tokens; }
  bool wait_tokens(uint32_t count, int64_t timeout_ms = 30'000) const {
    return eventually([&] { return tokens() >= count; }, timeout_ms);
  }
  [[nodiscard]] bool is_over() const {
    return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void cancel() { client_.cancel(id_); }

  /// The end, whatever it is; a request that never ends fails the test.
  Result<actors::GenerateResult> end(int64_t timeout_ms = 60'000) {
    REQUIRE(result_.wait_for(std::chrono::milliseconds(timeout_ms)) == std::future_status::ready);
    return result_.get();
  }
  actors::GenerateResult result(int64_t timeout_ms = 60'000) {
    auto ended = end(timeout_ms);
    INFO("ended with: ", ended.ok() ? "" : ended.error().message());
    REQUIRE(ended.ok());
    if (ended->choices.size() == 1) CHECK(shared_->text == ended->choices[0].text);
    return std::move(ended).value();
  }

 private:
  struct Shared {
    std::promise<Result<actors::GenerateResult>> promise;
    std::atomic<uint32_t> tokens = 0;
    std::string text;  ///< read once the request is over
  };
  actors::Client& client_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::future<Result<actors::GenerateResult>> result_;
  uint64_t id_ = 0;
};

}  // namespace troupe::testing
