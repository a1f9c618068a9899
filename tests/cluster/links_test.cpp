// The network between hosts fails in every way that it has: the text never changes, nothing leaks.
#include "tests/support/links_run.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("links: both directions are silent for two seconds while blocks move and streams run") {
  TwoHosts hosts(near_decode);
  if (!hosts.works()) {
    MESSAGE("SKIPPED: no network namespaces here: " << hosts.why_not());
    return;
  }
  hosts.up();
  Reference reference(hosts.model_path());
  const LinkRow row = run_link_fault(hosts, reference, {"cut for 2 s", LinkHarm::cut, 2'000});
  INFO(row.line());
  CHECK(row.changed == 0);
  CHECK(row.failed == 0);
  CHECK(row.left == "");
  hosts.down();
}

}  // namespace
}  // namespace troupe::testing
