// Every fault of the network between two hosts, short and longer than any patience.
#include "tests/support/links_run.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("links: cut, deaf in one direction, slow and stalled") {
  TwoHosts hosts(near_decode);
  REQUIRE_MESSAGE(hosts.works(), "no network namespaces here: " << hosts.why_not());
  hosts.up();
  Reference reference(hosts.model_path());
  const std::vector<LinkFault> faults = {
      {"cut for 1 s", LinkHarm::cut, 1'000},
      {"cut for 5 s", LinkHarm::cut, 5'000},
      {"cut for 30 s", LinkHarm::cut, 30'000},
      {"host one not heard for 15 s", LinkHarm::one_is_not_heard, 15'000},
      {"host two not heard for 15 s", LinkHarm::two_is_not_heard, 15'000},
      {"1 MB/s for 10 s", LinkHarm::slow, 10'000},
      {"stalled for 15 s", LinkHarm::stalled, 15'000},
  };
  for (const LinkFault& fault : faults) {
    const LinkRow row = run_link_fault(hosts, reference, fault);
    MESSAGE(row.line());
    CHECK(row.changed == 0);
    CHECK(row.left == "");
    CHECK(row.failed_late == 0);
    // What is short is waited for, and a slow link is a link.
    if (fault.duration_ms <= 1'000 || fault.harm == LinkHarm::slow) CHECK(row.failed == 0);
  }
  hosts.down();
}

}  // namespace
}  // namespace troupe::testing
