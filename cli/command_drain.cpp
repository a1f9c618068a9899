// drain: a worker or store takes nothing new, and what it does or has goes to others.
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"

namespace troupe::cli {
namespace {

struct DrainFlags {
  std::string node;
  std::string cluster;
  uint32_t wait_s = 30;
  bool json = false;
};

constexpr auto answer_time = std::chrono::seconds(5);
constexpr int look_ms = 100;

/// What the worker still does, or blocks that the store has still to hand over, once the router has
/// heard that it drains; -1 before.
Result<int64_t> busy_of(actors::Client& client, const std::string& node) {
  TROUPE_ASSIGN(const actors::ClusterView view, client.view(answer_time));
  for (const actors::WorkerStatus& worker : view.workers) {
    if (worker.name != node) continue;
    if (!worker.draining) return -1;
    return int64_t{worker.running} + worker.waiting + worker.sessions;
  }
  for (const actors::StoreStatus& store : view.stores) {
    if (store.name != node) continue;
    if (!store.draining) return -1;
    return int64_t{store.blocks_leaving};
  }
  return 0;  // it is gone
}

Result<int64_t> drain(const DrainFlags& flags) {
  ClusterOptions options;
  options.cluster = flags.cluster;
  TROUPE_ASSIGN(const Connection connection, connect(options));
  TROUPE_ASSIGN(int64_t busy, connection.client->drain(flags.node, answer_time));
  const TimeUs deadline = now_us() + TimeUs{flags.wait_s} * 1'000'000;
  do {
    TROUPE_ASSIGN(const int64_t heard, busy_of(*connection.client, flags.node));
    if (heard == 0) return 0;
    if (heard > 0) busy = heard;
    std::this_thread::sleep_for(std::chrono::milliseconds(look_ms));
  } while (now_us() < deadline && !interrupted());
  return busy;
}

int do_drain(const DrainFlags& flags) {
  install_signal_handlers();
  const TimeUs begin = now_us();
  const auto busy = drain(flags);
  if (!busy) return report(busy.error(), flags.json);
  const int64_t took_ms = (now_us() - begin) / 1000;
  const bool is_empty = *busy == 0;
  if (flags.json) {
    const nlohmann::ordered_json body = {{"node", flags.node},
                                         {"drained", is_empty},
                                         {"still_running", *busy},
                                         {"took_ms", took_ms}};
    std::cout << body.dump() << std::endl;
  } else if (is_empty) {
    std::cout << flags.node << " is drained after " << took_ms << " ms" << std::endl;
  } else {
    std::cout << flags.node << " drains; " << *busy << " still run there after " << took_ms << " ms"
              << std::endl;
  }
  return is_empty ? 0 : 1;
}

}  // namespace

void add_drain(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<DrainFlags>();
  CLI::App* command = app.add_subcommand(
      "drain",
      "Let a worker or store take nothing new; what it does, or has, goes to others of its kind");
  command->add_option("node", flags->node, "name of the worker or store, as troupe status shows it")
      ->required();
  add_text(*command, "--cluster", flags->cluster,
           "name of the running cluster (default: the only one)");
  add_whole(*command, "--wait", flags->wait_s, {0, 86'400}, "60",
            "how long to wait until nothing runs there, in seconds, 0 to 86400; exit status 1 if "
            "something still does (default 30)");
  command->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  command->callback([&run, flags] { run = [flags] { return do_drain(*flags); }; });
}

}  // namespace troupe::cli
