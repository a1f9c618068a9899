#include "tests/support/recovery_run.hpp"

#include <algorithm>
#include <csignal>
#include <mutex>

#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

/// A request that remembers how long its stream was silent since a point in time.
class Stream {
 public:
  Stream(actors::Client& client, actors::GenerateRequest request)
      : result_(shared_->promise.get_future()) {
    actors::GenerateHandlers handlers;
    handlers.on_delta = [shared = shared_](const actors::ClientDelta& delta) {
      const std::lock_guard lock(shared->mutex);
      const TimeUs now = now_us();
      shared->tokens += delta.tokens.size();
      if (shared->harm_us != 0) {
        const TimeUs since = std::max(shared->last_us, shared->harm_us);
        shared->gap_us = std::max(shared->gap_us, now - since);
      }
      shared->last_us = now;
    };
    handlers.on_end = [shared = shared_](Result<actors::GenerateResult> result) {
      shared->end_us = now_us();
      shared->promise.set_value(std::move(result));
    };
    client.generate(std::move(request), std::move(handlers));
  }

  [[nodiscard]] size_t tokens() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->tokens;
  }
  void note_harm(TimeUs now) {
    const std::lock_guard lock(shared_->mutex);
    shared_->harm_us = now;
  }
  [[nodiscard]] int64_t gap_ms() const { return shared_->gap_us / 1000; }
  [[nodiscard]] TimeUs life_us() const { return shared_->end_us - start_us_; }
  Result<actors::GenerateResult> end() {
    REQUIRE(result_.wait_for(std::chrono::seconds(180)) == std::future_status::ready);
    return result_.get();
  }

 private:
  struct Shared {
    std::mutex mutex;
    size_t tokens = 0;
    TimeUs harm_us = 0, last_us = 0, gap_us = 0, end_us = 0;
    std::promise<Result<actors::GenerateResult>> promise;
  };
  TimeUs start_us_ = now_us();
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::future<Result<actors::GenerateResult>> result_;
};

actors::GenerateRequest request_number(size_t i, const RecoveryLoad& load) {
  return request_of(some_tokens(70 + 13 * (i % 20), 500 + i), load.tokens, i % 3 == 0 ? 0.0f : 1.0f,
                    i);
}

/// Not one of the cluster's processes: nobody starts it again.
bool is_monitor(const std::string& victim) {
  return victim == "monitor";
}

std::vector<pid_t> do_harm(TestCluster& cluster, const Fault& fault, const Program& monitor) {
  std::vector<pid_t> victims;
  for (const std::string& name : fault.victims) {
    victims.push_back(is_monitor(name) ? monitor.pid() : cluster.pid(name));
  }
  for (const pid_t pid : victims) {
    REQUIRE(::kill(pid, fault.harm == Harm::kill ? SIGKILL : SIGSTOP) == 0);
  }
  return victims;
}

void end_harm(TestCluster& cluster, const Fault& fault, const std::vector<pid_t>& victims,
              const std::vector<uint64_t>& before) {
  if (fault.harm == Harm::stop) {
    ::poll(nullptr, 0, fault.stop_ms);
    for (const pid_t pid : victims) ::kill(pid, SIGCONT);
    return;
  }
  for (size_t i = 0; i < victims.size(); ++i) {
    if (is_monitor(fault.victims[i])) continue;
    CHECK(cluster.is_back(fault.victims[i], before[i], 30'000));
  }
}

}  // namespace

std::string Fault::text() const {
  std::string text = harm == Harm::kill ? "kill -9" : concat("SIGSTOP ", stop_ms / 1000, " s");
  for (const std::string& victim : victims) text += " " + victim;
  return text;
}

std::string Recovery::line() const {
  return concat(what, ": ", requests, " requests, ", moved, " moved, ", failed, " failed, ",
                changed, " changed, new ones failed ", new_failed, " (after ", new_wait_ms,
                " ms), silence p50 ", p50_ms(), " ms, max ", max_ms(), " ms",
                left.empty() ? "" : ", NOT IDLE: " + left);
}

Recovery run_fault(TestCluster& cluster, Reference& reference, const Fault& fault,
                   const RecoveryLoad& load) {
  const size_t all = load.streams + load.new_requests;
  std::vector<actors::GenerateResult> wanted;
  for (size_t i = 0; i < all; ++i) wanted.push_back(reference.run(request_number(i, load)));
  auto client = cluster.client();
  // Somebody watches, whoever dies.
  const auto monitor =
      cluster.start({"monitor", "--record", (cluster.path() / concat("seen-", now_us())).string()});
  std::vector<std::unique_ptr<Stream>> streams;
  for (size_t i = 0; i < load.streams; ++i) {
    streams.push_back(std::make_unique<Stream>(*client, request_number(i, load)));
  }
  const auto begun = [&] {
    return std::ranges::all_of(streams, [](const auto& stream) { return stream->tokens() > 0; });
  };
  REQUIRE(eventually(begun, 60'000));
  std::vector<uint64_t> before;
  for (const std::string& name : fault.victims) {
    before.push_back(is_monitor(name) ? 0 : cluster.incarnation(name));
  }
  const std::vector<pid_t> victims = do_harm(cluster, fault, *monitor);
  for (const auto& stream : streams) stream->note_harm(now_us());
  for (size_t i = load.streams; i < all; ++i) {
    streams.push_back(std::make_unique<Stream>(*client, request_number(i, load)));
  }
  end_harm(cluster, fault, victims, before);

  Recovery row;
  row.what = fault.text();
  row.requests = all;
  for (size_t i = 0; i < all; ++i) {
    const auto ended = streams[i]->end();
    const bool is_new = i >= load.streams;
    if (!ended) {
      INFO("request ", i, " failed: ", ended.error().message());
      (is_new ? row.new_failed : row.failed) += 1;
      if (is_new) row.new_wait_ms = std::max(row.new_wait_ms, streams[i]->life_us() / 1000);
      CHECK(is_new);
      continue;
    }
    row.moved += ended->attempts > 1 ? 1 : 0;
    row.changed += same_bits(ended->choices.at(0), wanted[i].choices.at(0)) ? 0 : 1;
    if (!is_new) row.gaps_ms.push_back(streams[i]->gap_ms());
  }
  std::ranges::sort(row.gaps_ms);
  row.left = cluster.wait_idle(40'000);
  return row;
}

void check_recovery(const Recovery& row, int64_t silence_max_ms) {
  INFO(row.line());
  CHECK(row.failed == 0);
  CHECK(row.changed == 0);
  CHECK(row.left == "");
  CHECK(row.max_ms() < silence_max_ms);
  CHECK(row.new_wait_ms < 12'000);
}

}  // namespace troupe::testing
