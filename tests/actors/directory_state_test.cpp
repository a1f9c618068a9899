#include "actors/directory_state.hpp"

#include <doctest/doctest.h>

#include "actors/limits.hpp"
#include "base/concat.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

v1::Join join_of(const std::string& name, uint64_t incarnation) {
  v1::Join join;
  join.mutable_node()->set_name(name);
  join.mutable_node()->set_incarnation(incarnation);
  join.set_cluster("c");
  join.set_manifest_digest("digest");
  return join;
}

uint64_t incarnation_of(const v1::Members& members, const std::string& name) {
  for (const v1::NodeInfo& node : members.nodes()) {
    if (node.name() == name) return node.incarnation();
  }
  return 0;
}

}  // namespace

TEST_CASE("nodes join, renew and are told who is there, in order of their names") {
  DirectoryState directory("c", "digest");
  REQUIRE(directory.join(join_of("b", 2), 0).ok());
  const auto members = directory.join(join_of("a", 1), 0);
  REQUIRE(members.ok());
  REQUIRE(members->nodes_size() == 2);
  CHECK(members->nodes(0).name() == "a");
  CHECK(members->nodes(1).name() == "b");
  CHECK(members->lease_ms() == limits::lease_us / 1000);
  // A renewal is no news; other facts about a node are.
  const uint64_t version = members->version();
  CHECK(directory.join(join_of("a", 1), 1)->version() == version);
  v1::Join changed = join_of("a", 1);
  changed.mutable_node()->set_health("draining");
  CHECK(directory.join(changed, 2)->version() == version + 1);
}

TEST_CASE("another manifest is refused with both digests; a guest without one replaces nobody") {
  DirectoryState directory("c", "digest");
  v1::Join other = join_of("a", 1);
  other.set_manifest_digest("another");
  const auto refused = directory.join(other, 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::failed_precondition);
  CHECK(refused.error().what.find("its digest is another, the cluster's is digest") !=
        std::string::npos);
  REQUIRE(directory.join(join_of("a", 1), 0).ok());
  v1::Join guest = join_of("guest", 5);
  guest.clear_manifest_digest();
  REQUIRE(directory.join(guest, 0).ok());
  REQUIRE(directory.join(guest, 1).ok());
  guest.mutable_node()->set_name("a");
  CHECK(directory.join(guest, 2).error().code == Code::unavailable);
  CHECK(incarnation_of(directory.members(), "a") == 1);
  // Once the member is gone, the name is free.
  CHECK(directory.join(guest, limits::lease_us + 3).ok());
}

TEST_CASE("a node that does not renew is gone when its lease ends, not before") {
  DirectoryState directory("c", "digest");
  REQUIRE(directory.join(join_of("a", 1), 0).ok());
  REQUIRE(directory.join(join_of("b", 2), 1000).ok());
  directory.expire(limits::lease_us);
  CHECK(directory.members().nodes_size() == 2);
  directory.expire(limits::lease_us + 1);
  REQUIRE(directory.members().nodes_size() == 1);
  CHECK(directory.members().nodes(0).name() == "b");
  // It may come back.
  REQUIRE(directory.join(join_of("a", 1), limits::lease_us + 2).ok());
  CHECK(directory.members().nodes_size() == 2);
}

TEST_CASE("a new incarnation replaces the old one, which stays out when it wakes") {
  DirectoryState directory("c", "digest");
  REQUIRE(directory.join(join_of("a", 1), 0).ok());
  REQUIRE(directory.join(join_of("a", 2), 10).ok());
  CHECK(directory.members().nodes_size() == 1);
  CHECK(incarnation_of(directory.members(), "a") == 2);
  const auto woken = directory.join(join_of("a", 1), 20);
  REQUIRE_FALSE(woken.ok());
  CHECK(woken.error().code == Code::failed_precondition);
  CHECK(woken.error().what.find("a") != std::string::npos);
  CHECK(incarnation_of(directory.members(), "a") == 2);
  // However many there were, memory stays bounded and the holder stays the holder.
  for (uint64_t i = 3; i < 100; ++i) REQUIRE(directory.join(join_of("a", i), 30).ok());
  CHECK_FALSE(directory.join(join_of("a", 98), 40).ok());
  CHECK(incarnation_of(directory.members(), "a") == 99);
}

TEST_CASE("only the incarnation that is there can leave") {
  DirectoryState directory("c", "digest");
  REQUIRE(directory.join(join_of("a", 1), 0).ok());
  REQUIRE(directory.join(join_of("a", 2), 0).ok());
  const uint64_t version = directory.members().version();
  directory.leave("a", 1);
  directory.leave("nobody", 2);
  CHECK(directory.members().nodes_size() == 1);
  CHECK(directory.members().version() == version);
  directory.leave("a", 2);
  CHECK(directory.members().nodes_size() == 0);
  CHECK(directory.members().version() == version + 1);
}

TEST_CASE("strangers are refused with both sides named") {
  DirectoryState directory("c", "digest");
  v1::Join foreign = join_of("a", 1);
  foreign.set_cluster("other");
  const auto other_cluster = directory.join(foreign, 0);
  REQUIRE_FALSE(other_cluster.ok());
  CHECK(other_cluster.error().code == Code::invalid_argument);
  CHECK(other_cluster.error().what.find("\"other\"") != std::string::npos);
  CHECK(other_cluster.error().what.find("\"c\"") != std::string::npos);
  v1::Join old = join_of("a", 1);
  old.set_manifest_digest("another");
  const auto other_manifest = directory.join(old, 0);
  REQUIRE_FALSE(other_manifest.ok());
  CHECK(other_manifest.error().code == Code::failed_precondition);
  CHECK(directory.join(join_of("", 1), 0).error().code == Code::invalid_argument);
  CHECK(directory.members().nodes_size() == 0);
}

TEST_CASE("one node too many is refused; those that are there may renew") {
  DirectoryState directory("c", "digest");
  for (size_t i = 0; i < limits::nodes_max; ++i) {
    REQUIRE(directory.join(join_of(concat("n", i), i + 1), 0).ok());
  }
  const auto refused = directory.join(join_of("extra", 7), 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
  CHECK(directory.join(join_of("n5", 6), 1).ok());
  CHECK(directory.join(join_of("extra", 7), limits::lease_us + 1).ok());
}

TEST_CASE("the lease is the manifest's, members are told it, and a longer silence ends it") {
  for (const TimeUs lease : {TimeUs{100'000}, TimeUs{3'000'000}}) {
    DirectoryState directory("c", "digest", lease);
    const auto joined = directory.join(join_of("a", 1), 0);
    REQUIRE(joined.ok());
    CHECK(joined->lease_ms() == static_cast<uint32_t>(lease / 1000));
    directory.expire(lease);
    CHECK(directory.members().nodes_size() == 1);
    directory.expire(lease + 1);
    CHECK(directory.members().nodes_size() == 0);
  }
}

TEST_CASE("everyone who renews or asks hears that the cluster is going down") {
  DirectoryState directory("c", "digest");
  CHECK_FALSE(directory.join(join_of("a", 1), 0)->closing());
  const uint64_t version = directory.members().version();
  directory.close();
  CHECK(directory.join(join_of("a", 1), 1)->closing());
  CHECK(directory.members().closing());
  CHECK(directory.members().version() > version);
}
