// Minutes long, so a test of its own that scripts/check-all runs; it prints its table.
#include <iostream>

#include "tests/support/recovery_run.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("recovery table: every victim, alone and in pairs, under 50 requests") {
  ClusterSetup setup;
  setup.decodes = 2;
  setup.kv_memory = "64MiB";
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  const std::vector<std::vector<std::string>> victims = {{"head"},
                                                         {"prefill"},
                                                         {"decode-1"},
                                                         {"prefill", "decode-1"},
                                                         {"head", "decode-1"},
                                                         {"head", "prefill"},
                                                         {"decode-1", "decode-2"}};
  for (const auto& names : victims) {
    for (const int stop_ms : {0, 1000, 5000, 30'000}) {
      const Fault fault{names, stop_ms == 0 ? Harm::kill : Harm::stop, stop_ms};
      const Recovery row = run_fault(cluster, reference, fault, {});
      std::cout << row.line() << std::endl;
      const bool nobody_left = names.size() == 2 && names[0] == "decode-1";
      check_recovery(row, nobody_left ? stop_ms + 8'000 : 8'000);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
