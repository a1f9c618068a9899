// Minutes long, so a test of its own that scripts/check-all runs; it prints its table.
#include <iostream>

#include "tests/support/recovery_run.hpp"

namespace troupe::testing {
namespace {

using Victims = std::vector<std::vector<std::string>>;

/// The whole cast, each actor in a process of its own.
ClusterSetup whole_cast() {
  ClusterSetup setup;
  setup.apart = true;
  setup.decodes = 2;
  setup.kv_memory = "64MiB";
  setup.roles_more =
      "  - {name: draft, run: [draft]}\n"
      "  - {name: store, run: [kv_store], store_memory: 64MiB}\n";
  return setup;
}

/// Streams have to wait until a victim that stands still goes on: no decode worker is left, or one
/// stands still together with the only router that could find another one.
bool only_victims_help(const std::vector<std::string>& names) {
  return names == std::vector<std::string>{"decode-1", "decode-2"} ||
         names == std::vector<std::string>{"router", "decode-1"};
}

void print_table(const Victims& victims) {
  TestCluster cluster(whole_cast());
  cluster.up();
  Reference reference(cluster.model_path());
  for (const auto& names : victims) {
    for (const int stop_ms : {0, 1000, 5000, 30'000}) {
      const Fault fault{names, stop_ms == 0 ? Harm::kill : Harm::stop, stop_ms};
      const Recovery row = run_fault(cluster, reference, fault, {});
      std::cout << row.line() << std::endl;
      check_recovery(row, only_victims_help(names) ? stop_ms + 8'000 : 8'000);
    }
  }
}

TEST_CASE("recovery table: every victim alone, under 50 requests") {
  print_table({{"directory"},
               {"router"},
               {"front"},
               {"prefill"},
               {"decode-1"},
               {"draft"},
               {"store"},
               {"monitor"}});
}

TEST_CASE("recovery table: two victims together, under 50 requests") {
  print_table({{"prefill", "decode-1"},
               {"decode-1", "decode-2"},
               {"router", "decode-1"},
               {"directory", "decode-1"},
               {"directory", "router"},
               {"front", "router"},
               {"store", "decode-1"},
               {"store", "prefill"},
               {"draft", "decode-1"},
               {"draft", "store"},
               {"router", "store"},
               {"monitor", "decode-1"}});
}

}  // namespace
}  // namespace troupe::testing
