#include "cli/run_request.hpp"

#include <chrono>
#include <future>
#include <optional>

#include "base/concat.hpp"
#include "launch/cluster.hpp"

namespace troupe::cli {
namespace {

constexpr std::chrono::milliseconds look_interval{50};
constexpr int looks_per_state = 4;

/// Why the cluster can answer no more, from its state on this machine. A client waits for a
/// directory that is away, which is right for one that comes back and too long for one that does
/// not.
std::optional<Error> why_over(const Connection& connection) {
  if (connection.cluster.empty()) return std::nullopt;
  const auto state = launch::status(connection.cluster);
  const bool is_gone = !state.ok() && state.error().code == Code::not_found;
  const bool is_other = state.ok() && state->supervisor != connection.supervisor;
  if (is_gone || is_other || (state.ok() && state->phase == launch::Phase::stopping)) {
    return error(Code::unavailable,
                 concat("cluster ", connection.cluster, " was stopped while the answer came"),
                 "start it again and ask again: the same seed gives the same answer");
  }
  if (state.ok() && state->is_stale) {
    return error(Code::unavailable,
                 concat("the supervisor of cluster ", connection.cluster,
                        " died, and the cluster "
                        "with it"),
                 concat("troupe down ", connection.cluster, " tidies up; then start it again"));
  }
  return std::nullopt;
}

}  // namespace

Result<actors::GenerateResult> run_request(
    Connection& connection, actors::GenerateRequest request,
    std::function<void(const actors::ClientDelta&)> on_delta) {
  auto promise = std::make_shared<std::promise<Result<actors::GenerateResult>>>();
  auto future = promise->get_future();
  actors::GenerateHandlers handlers;
  handlers.on_delta = std::move(on_delta);
  handlers.on_end = [promise](Result<actors::GenerateResult> r) {
    promise->set_value(std::move(r));
  };
  const uint64_t id = connection.client->generate(std::move(request), std::move(handlers));
  std::optional<Error> over;
  bool cancelled = false;
  for (int look = 1; future.wait_for(look_interval) != std::future_status::ready; ++look) {
    if (cancelled) continue;
    if (look % looks_per_state == 0) over = why_over(connection);
    if (!over && !interrupted()) continue;
    connection.client->cancel(id);
    cancelled = true;
  }
  auto result = future.get();
  if (over && !result.ok()) return *over;
  return result;
}

}  // namespace troupe::cli
