// What a store is worth to a placement: reading from it against computing.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "actors/limits.hpp"
#include "actors/placement.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr TimeUs second = 1'000'000;

WorkerInfo worker(const std::string& id, WorkerRole role, uint64_t incarnation) {
  WorkerInfo info;
  info.id = id;
  info.incarnation = incarnation;
  info.role = role;
  info.profile = {100, 10, 1000, 5000};  // 6400 us a block computed, 210 us a block copied
  info.block_bytes = 1 << 20;
  info.blocks_free = 1000;
  info.blocks_total = 1000;
  info.sequence_blocks_max = 1000;
  return info;
}

PlaceRequest request(uint32_t num_tokens) {
  PlaceRequest request;
  request.num_tokens = num_tokens;
  request.max_tokens = 128;
  for (uint32_t i = 0; i < num_tokens / 64; ++i) {
    kv::BlockName name;
    std::memcpy(name.bytes.data(), &i, sizeof i);
    name.bytes[15] = 1;
    request.names.push_back(name);
  }
  return request;
}

void hold(Placement& placement, const std::string& id, uint64_t incarnation,
          const PlaceRequest& request, size_t begin, size_t end) {
  std::vector<kv::Residence> held;
  for (size_t i = begin; i < end; ++i) held.push_back({request.names[i], kv::Tier::host});
  const uint64_t number = placement.index().last_number(id).value_or(0) + 1;
  REQUIRE(placement.index().apply_snapshot(id, incarnation, number, held) == kv::Applied::applied);
}

struct Fixture {
  Fixture() {
    REQUIRE(placement.on_worker(worker("w", WorkerRole::both, 1)).ok());
    REQUIRE(placement.on_store({"s", 9, 8000}, 0).ok());
  }
  Decision place(const PlaceRequest& request, TimeUs now = 0) {
    auto decision = placement.place(request, now);
    REQUIRE_MESSAGE(decision.ok(), (decision.ok() ? "" : decision.error().message()));
    placement.finish(decision->booking);
    return *decision;
  }
  Placement placement;
};

}  // namespace

TEST_CASE("what a store has is read rather than computed, and the prediction says so") {
  Fixture f;
  const PlaceRequest asked = request(640 + 10);
  const Decision cold = f.place(asked);
  CHECK_FALSE(cold.fetch_source.has_value());
  hold(f.placement, "s", 9, asked, 0, 8);
  const Decision warm = f.place(asked);
  REQUIRE(warm.fetch_source.has_value());
  CHECK(*warm.fetch_source == "s");
  CHECK(warm.fetch_blocks == 8);
  CHECK(warm.decode_worker == "w");
  // 8 MiB at 5000 bytes a microsecond, the start, and two blocks and ten tokens to compute.
  CHECK(warm.predicted_us == doctest::Approx(8 * (1 << 20) / 5000.0 + 2000 +
                                             work_us({100, 10, 1000, 5000}, {512, 650})));
  CHECK(warm.predicted_us < cold.predicted_us / 2);
  CHECK(explain(warm).find("reads up to block 8 from s") != std::string::npos);
}

TEST_CASE("what another worker has is read from it, whatever its role, unless it is unfit") {
  for (const WorkerRole role : {WorkerRole::decode, WorkerRole::both, WorkerRole::prefill}) {
    Placement placement;
    REQUIRE(placement.on_worker(worker("busy", role, 1)).ok());
    REQUIRE(placement.on_worker(worker("new", WorkerRole::decode, 2)).ok());
    const PlaceRequest asked = request(640 + 10);
    hold(placement, "busy", 1, asked, 0, 8);
    // So many sequences that the other worker is the better place to decode.
    std::vector<uint64_t> bookings;
    PlaceRequest other = asked;
    other.exclude = {2};
    for (int i = 0; role != WorkerRole::prefill && i < 40; ++i) {
      bookings.push_back(placement.place(other, 0)->booking);
    }
    const auto there = placement.place(asked, 0);
    REQUIRE(there.ok());
    CHECK(there->decode_worker == "new");
    if (role != WorkerRole::prefill) {
      REQUIRE(there->fetch_source.has_value());
      CHECK(*there->fetch_source == "busy");
      CHECK(there->fetch_blocks == 8);
    } else {
      // It computes the other two blocks as well.
      CHECK(there->prefill_worker == "busy");
    }
    placement.set_unfit("busy", "it drains", true);
    const auto drained = placement.place(asked, 0);
    REQUIRE(drained.ok());
    CHECK(drained->fetch_source == "busy");
    placement.set_unfit("busy", "nothing was heard of it");
    const auto without = placement.place(asked, 0);
    REQUIRE(without.ok());
    CHECK_FALSE(without->fetch_source.has_value());
    CHECK_FALSE(without->prefill_worker.has_value());
  }
}

TEST_CASE("only what is behind the worker's own blocks is read, up to the first that is missing") {
  Fixture f;
  const PlaceRequest asked = request(640);
  hold(f.placement, "s", 9, asked, 2, 7);
  CHECK_FALSE(f.place(asked).fetch_source.has_value());
  hold(f.placement, "w", 1, asked, 0, 3);
  const Decision decision = f.place(asked);
  REQUIRE(decision.fetch_source.has_value());
  CHECK(decision.fetch_blocks == 7);
  hold(f.placement, "w", 1, asked, 0, 8);
  CHECK_FALSE(f.place(asked).fetch_source.has_value());
}

TEST_CASE("computing wins where reading is slower") {
  Fixture f;
  const PlaceRequest asked = request(640);
  hold(f.placement, "s", 9, asked, 0, 10);
  CHECK(f.place(asked).fetch_source.has_value());
  // The worker has measured 100 bytes a microsecond: 10 ms a block.
  f.placement.on_load("w", 1, 1000, 100);
  CHECK_FALSE(f.place(asked).fetch_source.has_value());
  for (const double unusable :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    f.placement.on_load("w", 1, 1000, unusable);
    CHECK(f.place(asked).fetch_source.has_value());
  }
}

TEST_CASE("the best of several stores is read, and none that has fallen silent or is gone") {
  Fixture f;
  REQUIRE(f.placement.on_store({"t", 8, 8000}, 0).ok());
  const PlaceRequest asked = request(640);
  hold(f.placement, "s", 9, asked, 0, 3);
  hold(f.placement, "t", 8, asked, 0, 6);
  CHECK(f.place(asked).fetch_source == "t");
  f.placement.on_store_heard("s", 9, second);
  f.placement.on_store_heard("t", 7, second);  // another incarnation
  CHECK(f.place(asked, limits::store_silence_us + 1).fetch_source == "s");
  f.placement.on_store_heard("t", 8, second);
  CHECK(f.place(asked, limits::store_silence_us + 1).fetch_source == "t");
  f.placement.on_store_gone("t", 7);
  CHECK(f.place(asked).fetch_source == "t");
  f.placement.on_store_gone("t", 8);
  CHECK(f.place(asked).fetch_source == "s");
  // A new incarnation has nothing yet.
  REQUIRE(f.placement.on_store({"s", 10, 8000}, 0).ok());
  CHECK_FALSE(f.place(asked).fetch_source.has_value());
}

TEST_CASE("what lies on disk costs as much as the disk is slow, and is computed if that is less") {
  Fixture f;
  const PlaceRequest asked = request(640);
  std::vector<kv::Residence> held;
  for (size_t i = 0; i < 10; ++i) {
    held.push_back({asked.names[i], kv::Tier::disk});
    if (i < 4) held.push_back({asked.names[i], kv::Tier::host});
  }
  REQUIRE(f.placement.index().apply_snapshot("s", 9, 10, held) == kv::Applied::applied);
  // 1 MiB a block: 2.1 ms at 500 MB/s, which is assumed until the store knows; 6.4 ms to compute.
  const Decision unknown = f.place(asked);
  CHECK(unknown.fetch_source == "s");
  CHECK(unknown.fetch_blocks == 10);
  f.placement.on_store_heard("s", 9, 0, 2000);
  const Decision fast = f.place(asked);
  CHECK(fast.fetch_source == "s");
  CHECK(fast.predicted_us < unknown.predicted_us - 6 * 1500);
  // Slower than computing: only what is in memory is read.
  f.placement.on_store_heard("s", 9, 0, 20);
  CHECK(f.place(asked).fetch_blocks == 4);
  f.placement.on_store_heard("s", 9, 0, std::numeric_limits<double>::infinity());
  CHECK(f.place(asked).predicted_us == unknown.predicted_us);
}

TEST_CASE("a prefill worker reads from the store what it would compute") {
  Placement placement;
  REQUIRE(placement.on_worker(worker("p", WorkerRole::prefill, 1)).ok());
  REQUIRE(placement.on_worker(worker("d", WorkerRole::decode, 2)).ok());
  REQUIRE(placement.on_store({"s", 9, 8000}, 0).ok());
  const PlaceRequest asked = request(6400);
  hold(placement, "s", 9, asked, 0, 50);
  const auto half = placement.place(asked, 0);
  REQUIRE(half.ok());
  CHECK(half->prefill_worker == "p");
  CHECK(half->fetch_source == "s");
  CHECK(half->fetch_blocks == 50);
  // All of it: nobody needs to compute for the decode worker.
  hold(placement, "s", 9, asked, 0, 100);
  const auto whole = placement.place(asked, 0);
  REQUIRE(whole.ok());
  CHECK_FALSE(whole->prefill_worker.has_value());
  CHECK(whole->fetch_source == "s");
  CHECK(whole->fetch_blocks == 100);
  PlaceRequest forced = asked;
  forced.force_split = true;
  const auto split = placement.place(forced, 0);
  REQUIRE(split.ok());
  CHECK(split->prefill_worker == "p");
}

TEST_CASE("a store without a name or a bandwidth is refused") {
  Placement placement;
  for (const StoreInfo& bad : {StoreInfo{"", 1, 100}, StoreInfo{"s", 1, 0},
                               StoreInfo{"s", 1, std::numeric_limits<double>::quiet_NaN()}}) {
    const auto refused = placement.on_store(bad, 0);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::invalid_argument);
  }
}
