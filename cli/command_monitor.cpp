// monitor: watch a running cluster, on a screen, as one page or into a file; or a recording of it.
#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/monitor_feed.hpp"
#include "cli/monitor_json.hpp"
#include "cli/monitor_loop.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/options.hpp"
#include "library/local_cluster.hpp"

namespace troupe::cli {
namespace {

struct MonitorFlags {
  std::string cluster;
  bool once = false;
  bool json = false;
  std::string record;
  std::string replay;
  float speed = 1;
  uint32_t interval_ms = 500;
};

/// --once waits this long for every node to say something twice.
constexpr int64_t once_wait_us = 5'000'000;
constexpr uint32_t once_interval_ms = 250;
constexpr size_t page_columns = 132;

Status check(const MonitorFlags& flags) {
  if (flags.json && !flags.once) {
    return error(Code::invalid_argument, "--json without --once",
                 "one JSON object is one look: troupe monitor --once --json");
  }
  if (!flags.replay.empty() && (!flags.record.empty() || !flags.cluster.empty())) {
    return error(Code::invalid_argument,
                 "--replay shows a recording; a cluster or --record goes with a live monitor",
                 "leave one of them out");
  }
  if (flags.replay.empty() && flags.speed != 1.0f) {
    return error(Code::invalid_argument, "--speed is that of a replay", "give --replay FILE, too");
  }
  return {};
}

void print(const MonitorModel& model, const MonitorStatus& status, bool json) {
  if (json) {
    using Handler = nlohmann::ordered_json::error_handler_t;
    std::cout << to_json(model).dump(-1, ' ', false, Handler::replace) << std::endl;
    return;
  }
  for (const ScreenLine& line : page(model, status, page_columns)) {
    std::cout << plain_text(line) << "\n";
  }
  std::cout << std::flush;
}

/// Every node was heard often enough for a rate.
bool is_complete(const MonitorModel& model) {
  const auto told = [](const auto& entry) {
    return entry.second.rate(v1::METRIC_CPU_US).has_value();
  };
  return !model.nodes().empty() && std::all_of(model.nodes().begin(), model.nodes().end(), told);
}

Status print_live(LiveFeed& feed, const MonitorFlags& flags) {
  const int64_t deadline = now_us() + once_wait_us;
  bool complete = false;
  bool empty = true;
  while (!complete && !feed.failure() && now_us() < deadline && !interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    feed.with_model([&](const MonitorModel& model) {
      complete = is_complete(model);
      empty = model.nodes().empty();
    });
  }
  if (empty) {
    if (const auto failure = feed.failure()) return *failure;
    return error(Code::timeout,
                 concat("the directory did not answer within ", once_wait_us / 1'000'000, " s"),
                 "troupe status shows what runs");
  }
  feed.with_model([&](const MonitorModel& model) {
    print(model, {"", complete ? "" : "not every node was heard", wall_now_us()}, flags.json);
  });
  if (const auto failure = feed.failure()) return *failure;
  return {};
}

Status watch(const MonitorFlags& flags) {
  TROUPE_ASSIGN(const library::LocalCluster cluster, library::local_cluster(flags.cluster));
  LiveFeed feed(cluster.client.cluster);
  if (!flags.record.empty()) TROUPE_TRY(feed.record_to(flags.record));
  TROUPE_ASSIGN(
      const auto monitor,
      actors::Monitor::attach(cluster.client, flags.once ? once_interval_ms : flags.interval_ms,
                              feed.handlers()));
  if (flags.once) return print_live(feed, flags);
  return run_live(feed, cluster.client.cluster, flags.record);
}

Status replay(const MonitorFlags& flags) {
  TROUPE_ASSIGN(ReplayFeed feed, ReplayFeed::open(flags.replay));
  if (!flags.once) return run_replay(feed, flags.replay, flags.speed);
  TROUPE_TRY(feed.finish());
  print(feed.model(), {concat("end of ", flags.replay), "", feed.wall_us()}, flags.json);
  return {};
}

int do_monitor(const MonitorFlags& flags) {
  install_signal_handlers();
  Status status = check(flags);
  if (status.ok()) status = flags.replay.empty() ? watch(flags) : replay(flags);
  return status.ok() ? 0 : report(status.error(), flags.json);
}

}  // namespace

void add_monitor(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<MonitorFlags>();
  CLI::App* command = app.add_subcommand(
      "monitor", "Watch a running cluster: nodes, speeds, KV blocks, requests and their timelines");
  command->add_option("cluster", flags->cluster, "its name (default: the only one)");
  command->add_flag("--once", flags->once,
                    "print one page and end; the screen needs a terminal, this does not "
                    "(default off)");
  command->add_flag("--json", flags->json, "with --once: one JSON object on stdout (default off)");
  add_text(*command, "--record", flags->record,
           "a new file that everything seen is written to, a JSON object a line; "
           "without a terminal nothing else is done until Ctrl-C (default: none)");
  add_text(*command, "--replay", flags->replay,
           "show a recording instead of a cluster; with --once its end (default: none)");
  add_real(*command, "--speed", flags->speed, {0.01f, 1000.0f}, "10",
           "of a replay, 0.01 to 1000 times that of the recorded one (default 1)");
  add_whole(*command, "--interval", flags->interval_ms, {100, 60'000}, "500",
            "how often each node tells what changed, 100 to 60000 ms (default 500)");
  command->callback([&run, flags] { run = [flags] { return do_monitor(*flags); }; });
}

}  // namespace troupe::cli
