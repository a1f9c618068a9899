// Connecting to somebody who never answers ends when the manifest says.
#include <doctest/doctest.h>

#include <caf/all.hpp>
#include <future>

#include "actors/resolve.hpp"
#include "actors/runtime.hpp"

using namespace troupe;
using namespace troupe::actors;

TEST_CASE("a connection that nobody answers is given up after connect_timeout") {
  const auto runtime = *Runtime::start({});
  const caf::actor silent = runtime->system().spawn([](caf::event_based_actor* self) {
    return caf::behavior{[self](caf::connect_atom, const std::string&, uint16_t) {
      return self->make_response_promise();
    }};
  });
  for (const int timeout_ms : {100, 600}) {
    std::promise<Result<NodeActor>> answer;
    const TimeUs before = now_us();
    const caf::actor asker = runtime->system().spawn([&](caf::event_based_actor* self) {
      Caller caller;
      caller.connector = silent;
      caller.connect_timeout_ms = timeout_ms;
      connect_node(self, caller, "nowhere", 1,
                   [&answer](Result<NodeActor> node) { answer.set_value(std::move(node)); });
      return caf::behavior{[](const v1::Cancel&) {}};
    });
    auto result = answer.get_future();
    REQUIRE(result.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    const auto node = result.get();
    REQUIRE_FALSE(node.ok());
    CHECK(node.error().code == Code::unavailable);
    CHECK(node.error().what.find("nowhere:1") != std::string::npos);
    CHECK(now_us() - before >= timeout_ms * 900);
    CHECK(now_us() - before < timeout_ms * 1000 + 2'000'000);
    caf::anon_send_exit(asker, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(silent, caf::exit_reason::user_shutdown);
}
