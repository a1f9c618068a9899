#include "actors/placement.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <map>

#include "base/concat.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr uint32_t tokens_per_block = 64;

WorkerInfo worker(const std::string& id, WorkerRole role, uint64_t incarnation) {
  WorkerInfo info;
  info.id = id;
  info.incarnation = incarnation;
  info.role = role;
  info.profile = {100, 10, 1000, 5000};
  info.block_bytes = 1 << 20;
  info.blocks_free = 1000;
  info.blocks_total = 1000;
  info.sequence_blocks_max = 1000;
  return info;
}

/// `prefills` prefill workers p0, p1, … and `decodes` decode workers d0, d1, …
Placement cluster(uint64_t prefills, uint64_t decodes, PlacementOptions options = {}) {
  Placement placement(options);
  for (uint64_t i = 0; i < prefills; ++i) {
    CHECK(placement.on_worker(worker(concat("p", i), WorkerRole::prefill, 100 + i)).ok());
  }
  for (uint64_t i = 0; i < decodes; ++i) {
    CHECK(placement.on_worker(worker(concat("d", i), WorkerRole::decode, 200 + i)).ok());
  }
  return placement;
}

kv::BlockName name_of(uint32_t value) {
  kv::BlockName name;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

/// A prompt of its own for each `family`.
PlaceRequest request(uint32_t num_tokens, uint32_t family = 0) {
  PlaceRequest request;
  request.num_tokens = num_tokens;
  request.max_tokens = 128;
  request.tokens_per_block = tokens_per_block;
  for (uint32_t i = 0; i < num_tokens / tokens_per_block; ++i) {
    request.names.push_back(name_of(family * 100000 + i));
  }
  return request;
}

/// The worker holds the first `blocks` blocks of the request.
void hold(Placement& placement, const std::string& id, uint64_t incarnation,
          const PlaceRequest& request, size_t blocks) {
  std::vector<kv::Residence> held;
  for (size_t i = 0; i < blocks; ++i) held.push_back({request.names[i], kv::Tier::device});
  REQUIRE(placement.index().apply_snapshot(id, incarnation, 1, held) == kv::Applied::applied);
}

Decision must(Result<Decision> result) {
  REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().message()));
  return std::move(result).value();
}

}  // namespace

TEST_CASE("the cost of tokens grows with their position") {
  const DeviceProfile profile{100, 10, 1000, 5000};
  CHECK(work_us(profile, {0, 1000}) == doctest::Approx(100000 + 5000));
  CHECK(work_us(profile, {190000, 191000}) == doctest::Approx(100000 + 1905000));
  CHECK(work_us(profile, {0, 700}) + work_us(profile, {700, 1000}) ==
        doctest::Approx(work_us(profile, {0, 1000})));
  CHECK(work_us(profile, {10, 10}) == 0);
  CHECK(fetch_us(profile, {1, 1, 1, 1000}, 1 << 20) == doctest::Approx(1048.576));
}

TEST_CASE("a long uncached prompt goes to a prefill worker, a short one does not") {
  Placement placement = cluster(1, 1);
  const Decision split = must(placement.place(request(640), 0));
  CHECK(split.decode_worker == "d0");
  CHECK(split.decode_incarnation == 200);
  CHECK(split.prefill_worker == "p0");
  CHECK(split.prefill_incarnation == 100);
  CHECK(split.predicted_us > work_us({100, 10, 1000, 5000}, {0, 640}));
  CHECK_FALSE(must(placement.place(request(63), 0)).prefill_worker.has_value());
}

TEST_CASE("nothing is split when the decode worker holds the blocks or the threshold is higher") {
  PlacementOptions options;
  options.prefill_blocks_min = 4;
  Placement placement = cluster(1, 1, options);
  const PlaceRequest asked = request(640);
  hold(placement, "d0", 200, asked, 7);
  CHECK_FALSE(must(placement.place(asked, 0)).prefill_worker.has_value());
  hold(placement, "d0", 200, asked, 6);
  CHECK(must(placement.place(asked, 0)).prefill_worker.has_value());
}

TEST_CASE("a worker with both roles is chosen alone") {
  Placement placement = cluster(1, 0);
  REQUIRE(placement.on_worker(worker("all", WorkerRole::both, 7)).ok());
  const Decision decision = must(placement.place(request(640), 0));
  CHECK(decision.decode_worker == "all");
  CHECK_FALSE(decision.prefill_worker.has_value());
}

TEST_CASE("a decode worker computes the prompt itself while there is no prefill worker") {
  Placement placement = cluster(0, 1);
  CHECK_FALSE(must(placement.place(request(640), 0)).prefill_worker.has_value());
  PlaceRequest forced = request(640);
  forced.force_split = true;
  const auto refused = placement.place(forced, 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::unavailable);
  CHECK(refused.error().what.find("no prefill worker") != std::string::npos);
}

TEST_CASE("the error says which role is missing") {
  Placement placement = cluster(1, 0);
  const auto refused = placement.place(request(10), 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::unavailable);
  CHECK(refused.error().what == "no decode worker has joined this router");
  CHECK(placement.num_bookings() == 0);
}

TEST_CASE("the holder of the prefix is preferred, among decode and among prefill workers") {
  Placement placement = cluster(4, 4);
  const PlaceRequest asked = request(1280);
  hold(placement, "d2", 202, asked, 12);
  hold(placement, "p3", 103, asked, 15);
  const Decision decision = must(placement.place(asked, 0));
  CHECK(decision.decode_worker == "d2");
  CHECK(decision.prefill_worker == "p3");
}

TEST_CASE("a burst spreads, although every request prefers the same holder at first") {
  Placement placement = cluster(0, 4);
  const PlaceRequest asked = request(1280);
  hold(placement, "d1", 201, asked, 2);
  std::map<std::string, int> taken;
  for (int i = 0; i < 40; ++i) ++taken[must(placement.place(asked, 0)).decode_worker];
  REQUIRE(taken.size() == 4);
  for (const auto& [id, count] : taken) {
    CHECK_MESSAGE(count >= 8, id);
    CHECK_MESSAGE(count <= 13, id);
  }
}

TEST_CASE("ties rotate") {
  Placement placement = cluster(0, 3);
  std::map<std::string, int> taken;
  for (int i = 0; i < 9; ++i) {
    const Decision decision = must(placement.place(request(10), 0));
    ++taken[decision.decode_worker];
    placement.finish(decision.booking);
  }
  CHECK(taken == std::map<std::string, int>{{"d0", 3}, {"d1", 3}, {"d2", 3}});
}

TEST_CASE("progress and finish take the booked work back to nothing") {
  Placement placement = cluster(1, 1);
  const Decision first = must(placement.place(request(6400), 0));
  const Decision second = must(placement.place(request(3200, 1), 0));
  const double both = placement.queued_us("p0");
  placement.progress(first.booking, 3200, 1);
  CHECK(placement.queued_us("p0") < both);
  CHECK(placement.queued_us("p0") == doctest::Approx(work_us({100, 10, 1000, 5000}, {3200, 6400}) +
                                                     work_us({100, 10, 1000, 5000}, {0, 3200})));
  placement.progress(first.booking, 100, 2);
  placement.progress(first.booking, UINT32_MAX, 3);
  placement.finish(second.booking);
  CHECK(placement.queued_us("p0") == doctest::Approx(0).epsilon(1e-6));
  placement.finish(first.booking);
  placement.finish(first.booking);
  CHECK(placement.num_bookings() == 0);
  CHECK(placement.queued_us("d0") == doctest::Approx(0).epsilon(1e-6));
}

TEST_CASE("the bookings of a dead worker vanish from both sides") {
  Placement placement = cluster(1, 2);
  for (int i = 0; i < 6; ++i) must(placement.place(request(640, static_cast<uint32_t>(i)), 0));
  CHECK(placement.num_bookings() == 6);
  placement.on_worker_gone("d0", 999);
  CHECK(placement.num_workers() == 3);
  placement.on_worker_gone("d0", 200);
  CHECK(placement.num_bookings() == 3);
  CHECK(placement.queued_us("p0") == doctest::Approx(3 * work_us({100, 10, 1000, 5000}, {0, 640})));
  CHECK(must(placement.place(request(640, 9), 0)).decode_worker == "d1");
  placement.on_worker_gone("p0", 100);
  CHECK(placement.num_bookings() == 0);
}

TEST_CASE("a new incarnation starts without blocks and bookings") {
  Placement placement = cluster(0, 1);
  const PlaceRequest asked = request(640);
  hold(placement, "d0", 200, asked, 10);
  must(placement.place(asked, 0));
  REQUIRE(placement.on_worker(worker("d0", WorkerRole::decode, 3)).ok());
  CHECK(placement.num_bookings() == 0);
  const Decision decision = must(placement.place(asked, 0));
  CHECK(decision.decode_incarnation == 3);
  CHECK(decision.candidates[0].matched_blocks == 0);
}

TEST_CASE("bookings expire when nobody mentions them") {
  PlacementOptions options;
  options.booking_timeout_us = 1000;
  Placement placement = cluster(1, 1, options);
  const Decision kept = must(placement.place(request(640), 0));
  must(placement.place(request(640, 1), 0));
  placement.progress(kept.booking, 64, 900);
  CHECK(placement.expire(999).empty());
  CHECK(placement.expire(1000).size() == 1);
  CHECK(placement.num_bookings() == 1);
  CHECK(placement.expire(1900) == std::vector<uint64_t>{kept.booking});
  CHECK(placement.queued_us("p0") == doctest::Approx(0).epsilon(1e-6));
}

TEST_CASE("excluded incarnations, other fingerprints and too little memory are refused by name") {
  Placement placement = cluster(0, 2);
  WorkerInfo other = worker("other", WorkerRole::decode, 9);
  other.kv_fingerprint = std::string("y");
  REQUIRE(placement.on_worker(other).ok());
  PlaceRequest asked = request(64);
  asked.exclude = {200};
  asked.kv_fingerprint.clear();
  const Decision decision = must(placement.place(asked, 0));
  CHECK(decision.decode_worker != "d0");
  asked.exclude = {200, 201, 9};
  const auto excluded = placement.place(asked, 0);
  REQUIRE_FALSE(excluded.ok());
  CHECK(excluded.error().code == Code::unavailable);
  CHECK(excluded.error().what.find("d0: the request excludes this incarnation") !=
        std::string::npos);
  asked.exclude = {};
  asked.kv_fingerprint = std::string("y");
  CHECK(must(placement.place(asked, 0)).decode_worker == "other");
  PlaceRequest huge = request(63000);
  huge.max_tokens = 2000;
  const auto refused = placement.place(huge, 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().what.find("needs 1016 blocks, the worker has room for 1000") !=
        std::string::npos);
}

TEST_CASE("a worker whose memory is full costs what it would evict") {
  Placement placement = cluster(0, 2);
  placement.on_load("d0", 200, 0);
  placement.on_load("d1", 999, 0);
  for (int i = 0; i < 4; ++i) {
    const Decision decision = must(placement.place(request(640), 0));
    CHECK(decision.decode_worker == "d1");
    placement.finish(decision.booking);
  }
}

TEST_CASE("the explanation names the choice, its parts and why others were refused") {
  Placement placement = cluster(1, 2);
  PlaceRequest asked = request(640);
  hold(placement, "d0", 200, asked, 3);
  asked.exclude = {201};
  const std::string text = explain(must(placement.place(asked, 0)));
  INFO(text);
  CHECK(text.find("decode on d0, prefill on p0; first token predicted after ") == 0);
  CHECK(
      text.find("* prefill on p0: chosen: the only one possible\n    0 of 10 prompt blocks cached; "
                "cost ") != std::string::npos);
  CHECK(text.find(
            "* decode on d0: chosen: the only one possible\n    3 of 10 prompt blocks cached (3 "
            "on the device); cost ") != std::string::npos);
  CHECK(text.find("  decode on d1: not possible: the request excludes") != std::string::npos);
  CHECK(text.find("\nqueue: work that comes first") != std::string::npos);
}

TEST_CASE("nonsense is refused with a reason") {
  Placement placement = cluster(0, 1);
  CHECK(placement.place(PlaceRequest{}, 0).error().code == Code::invalid_argument);
  PlaceRequest asked = request(128);
  asked.num_tokens = 100;
  CHECK(placement.place(asked, 0).error().code == Code::invalid_argument);
  WorkerInfo broken = worker("x", WorkerRole::decode, 1);
  broken.profile.prefill_us_per_token = std::numeric_limits<double>::quiet_NaN();
  CHECK(placement.on_worker(broken).error().code == Code::invalid_argument);
  broken = worker("x", WorkerRole::decode, 1);
  broken.profile.transfer_bytes_per_us = 0;
  CHECK_FALSE(placement.on_worker(broken).ok());
  CHECK_FALSE(placement.on_worker(worker("", WorkerRole::decode, 1)).ok());
}

TEST_CASE("a worker that is not fit gets nothing new until it is fit again, and says why") {
  Placement placement = cluster(1, 2);
  placement.set_unfit("d0", "it drains");
  placement.set_unfit("nobody", "it drains");
  for (int i = 0; i < 10; ++i) CHECK(placement.place(request(200), 0)->decode_worker == "d1");
  placement.set_unfit("p0", "nothing was heard of it");
  CHECK_FALSE(placement.place(request(200), 0)->prefill_worker.has_value());
  placement.set_unfit("d1", "nothing was heard of it");
  const auto refused = placement.place(request(200), 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::unavailable);
  CHECK(refused.error().what.find("d0: it drains") != std::string::npos);
  CHECK(refused.error().what.find("d1: nothing was heard of it") != std::string::npos);
  placement.set_unfit("d0", "");
  CHECK(placement.place(request(200), 0)->decode_worker == "d0");
}
