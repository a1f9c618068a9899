// troupe monitor on a running cluster: what it tells is true, and the cluster does not notice it,
// not even when it is killed or stopped.
#include <fstream>

#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

const Json& node_of(const Json& seen, const std::string& name) {
  for (const Json& node : seen["nodes"]) {
    if (node["name"] == name) return node;
  }
  FAIL("no node ", name);
  return seen;
}

double metric_of(const Json& seen, const std::string& node, const std::string& metric) {
  return node_of(seen, node)["metrics"][metric].get<double>();
}

TEST_CASE("monitor: the timeline of a request, from all nodes that had to do with it") {
  TestCluster cluster;
  cluster.up();
  auto client = cluster.client();
  const auto result = RunningRequest(*client, request_of(some_tokens(300, 91), 40)).result();
  CHECK(result.blocks_moved == 4);
  const Json seen = cluster.json({"monitor", "--once"});
  REQUIRE(seen["nodes"].size() == 3);
  for (const Json& node : seen["nodes"]) {
    CHECK(node["health"] == "ready");
    CHECK(node["metrics"]["memory_bytes"].get<double>() > 1e6);
    CHECK(node["heard_seconds_ago"].get<double>() < 3);
  }
  CHECK(metric_of(seen, "head", "prepared_requests") == 1);
  CHECK(metric_of(seen, "head", "placements") == 1);
  CHECK(metric_of(seen, "head", "known_workers") == 2);
  CHECK(metric_of(seen, "prefill", "prefills_done") == 1);
  CHECK(metric_of(seen, "decode", "choices_finished") == 1);
  CHECK(metric_of(seen, "decode", "moved_blocks") == 4);
  CHECK(node_of(seen, "decode")["distributions"]["ttft_seconds"]["count"] == 1);
  CHECK(node_of(seen, "decode")["distributions"]["itl_seconds"]["count"] == 39);
  REQUIRE(seen["requests"].size() == 1);
  const Json& request = seen["requests"][0];
  CHECK(request["finish_reason"] == "length");
  CHECK(request["prompt_tokens"] == 300);
  CHECK(request["output_tokens"] == 40);
  CHECK(request["prefill_worker"] == "prefill");
  CHECK(request["decode_worker"] == "decode");
  CHECK(request["blocks_moved"] == 4);
  CHECK(request["prompt_hash"].get<std::string>().size() == 16);
  const Json& stages = request["stages"];
  const auto in_order = [&](const std::vector<const char*>& names) {
    double last = 0;
    for (const char* name : names) {
      REQUIRE_MESSAGE(stages.contains(name), std::string(name));
      CHECK_MESSAGE(stages[name].get<double>() >= last, stages.dump());
      last = stages[name].get<double>();
    }
  };
  in_order({"received", "prepared", "placed", "started", "transfer_done", "scheduled",
            "first_token", "done"});
  in_order({"placed", "prefill_started", "prefill_done"});
  in_order({"prefill_started", "transfer_started", "transfer_done"});
  const Finished page = cluster.run({"monitor", "--once"});
  CHECK(page.exit_code == 0);
  for (const char* part : {"3 of 3 ready", "prefill", "4 blocks", "length"}) {
    CHECK_MESSAGE(page.out.find(part) != std::string::npos, page.out);
  }
}

TEST_CASE("monitor: killed or stopped under load, it changes nothing and loses nothing") {
  TestCluster cluster;
  cluster.up();
  Reference reference(cluster.model_path());
  auto client = cluster.client();
  const std::string killed_file = cluster.path() / "killed.jsonl";
  const std::string stopped_file = cluster.path() / "stopped.jsonl";
  const auto killed = cluster.start({"monitor", "--record", killed_file, "--interval", "100"});
  const auto stopped = cluster.start({"monitor", "--record", stopped_file, "--interval", "100"});
  const auto holds_updates = [](const std::string& path) {
    return read_text(path).find("\"update\"") != std::string::npos;
  };
  REQUIRE(eventually([&] { return holds_updates(killed_file) && holds_updates(stopped_file); },
                     10'000));
  CHECK(metric_of(cluster.json({"monitor", "--once"}), "decode", "subscribers") == 3);

  stopped->send(SIGSTOP);
  killed->send(SIGKILL);
  const int64_t stopped_us = now_us();
  uint64_t seed = 100;
  int requests = 0;
  do {
    const auto first = request_of(some_tokens(200, ++seed), 300);
    const auto second = request_of(some_tokens(130, ++seed), 300);
    RunningRequest one(*client, first);
    RunningRequest two(*client, second);
    check_same(one.result(), reference.run(first));
    check_same(two.result(), reference.run(second));
    requests += 2;
  } while (now_us() - stopped_us < 3'000'000);
  stopped->send(SIGCONT);

  // What was missed comes: the recording ends with what the cluster says itself.
  const Json seen = cluster.json({"monitor", "--once"});
  CHECK(metric_of(seen, "decode", "choices_finished") == requests);
  CHECK(metric_of(seen, "decode", "subscribers") == 2);
  const auto caught_up = [&] {
    const Json replayed = cluster.json({"monitor", "--once", "--replay", stopped_file});
    return replayed["nodes"].size() == 3 &&
           metric_of(replayed, "decode", "choices_finished") == requests &&
           metric_of(replayed, "prefill", "prefills_done") ==
               metric_of(seen, "prefill", "prefills_done") &&
           replayed["requests"].size() == seen["requests"].size();
  };
  CHECK(eventually(caught_up, 10'000));
  stopped->send(SIGTERM);
  CHECK(stopped->wait(5'000).exit_code == 0);
  CHECK(cluster.wait_idle() == "");
  const auto alone = [&] {
    return metric_of(cluster.json({"monitor", "--once"}), "decode", "subscribers") == 1;
  };
  CHECK(eventually(alone, 5'000));
}

TEST_CASE("monitor: nodes that die and come back are heard again") {
  TestCluster cluster;
  cluster.up();
  const std::string file = cluster.path() / "seen.jsonl";
  const auto monitor = cluster.start({"monitor", "--record", file, "--interval", "100"});
  REQUIRE(eventually(
      [&] { return read_text(file).find("\"node\":\"decode\"") != std::string::npos; }, 10'000));
  for (const char* process : {"decode", "head"}) {
    const uint64_t before = cluster.incarnation(process);
    cluster.kill(process);
    REQUIRE(cluster.is_back(process, before));
    const auto heard_again = [&] {
      const Json replayed = cluster.json({"monitor", "--once", "--replay", file});
      if (replayed["nodes"].size() != 3) return false;
      const Json live = cluster.json({"monitor", "--once"});
      const Json& node = node_of(replayed, process);
      return node["incarnation"] == node_of(live, process)["incarnation"] &&
             !node["heard_seconds_ago"].is_null();
    };
    CHECK(eventually(heard_again, 15'000));
  }
  cluster.stop();
  const Finished over = monitor->wait(10'000);
  CHECK(over.exit_code == 1);
  CHECK_MESSAGE(over.err.find("is gone") != std::string::npos, over.err);
}

TEST_CASE("monitor: what cannot be is refused") {
  TestCluster cluster;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const Finished run = cluster.run(words);
    CHECK(run.exit_code != 0);
    CHECK_MESSAGE((run.out + run.err).find(part) != std::string::npos, run.out, run.err);
  };
  refused({"monitor", "--json"}, "without --once");
  refused({"monitor", "--replay", "x", "--record", "y"}, "--replay shows a recording");
  refused({"monitor", "--replay", "/no/such/file", "--once"}, "cannot read the recording");
  refused({"monitor", "nobody"}, "nobody");
  refused({"monitor", "--interval", "5"}, "--interval");
  refused({"monitor", "--recrod", "x"}, "did you mean --record?");
  const std::string file = cluster.path() / "recording";
  std::ofstream(file) << "{\"troupe_recording\":1}\n";
  refused({"monitor", "--replay", file}, "needs a terminal");
}

}  // namespace
}  // namespace troupe::testing
