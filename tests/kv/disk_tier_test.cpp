// The disk tier against a disk that the test plays.
#include "kv/disk_tier.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "kv/limits.hpp"
#include "tests/kv/disk_blocks.hpp"

using namespace troupe;
using namespace troupe::kv;
using namespace troupe::testing;

namespace {

constexpr size_t block_bytes = 4096;
/// So that a segment has four places: head, table, four records of two pages.
constexpr uint64_t segment = 10 * disk_page_bytes;
constexpr uint64_t disk_bytes = 32 * segment;

struct PlayedDisk {
  explicit PlayedDisk(uint64_t bytes_max = disk_bytes)
      : tier(bytes_max, events, [this](DiskJob job) { jobs.push_back(std::move(job)); }) {}

  /// Ends the oldest job; gives what the tier makes of it.
  std::optional<DiskOutcome> end_one(Status status = {}) {
    REQUIRE_FALSE(jobs.empty());
    const DiskJob job = std::move(jobs.front());
    jobs.pop_front();
    using Kind = DiskJob::Kind;
    if (job.kind == Kind::remove) {
      files.erase(job.segment.number);
    } else if (job.kind == Kind::write || job.kind == Kind::move) {
      if (job.kind == Kind::move && status) {
        const auto& source = files.at(job.source.segment);
        if (!source.contains(job.source.place)) status = error(Code::corrupt, "nothing there");
      }
      auto& places = files[job.segment.number];
      CHECK_FALSE(places.contains(job.place));
      CHECK(job.place < job.segment.records_max);
      if (status) places[job.place] = job.record;
    } else if (job.kind == Kind::read) {
      if (status) CHECK(files.at(job.segment.number).at(job.place) == job.record);
    } else {
      sealed[job.segment.number] = job.rows;
    }
    return tier.on_done({job.id, status, 10}, now);
  }
  void end_all() {
    while (!jobs.empty()) end_one();
  }
  bool write(uint32_t number) {
    if (!tier.can_write(now)) return false;
    tier.write(disk_record(number, block_bytes), block.data());
    return true;
  }
  /// What a subscriber that heard every event holds to be here.
  std::set<BlockName> told() const {
    std::set<BlockName> names;
    const std::vector<Event> all = events.since(0, SIZE_MAX).value_or(std::vector<Event>());
    CHECK(all.size() == events.last_number());
    for (const Event& event : all) {
      CHECK(event.tier == Tier::disk);
      if (event.stored) {
        CHECK(names.insert(event.name).second);
      } else {
        CHECK(names.erase(event.name) == 1);
      }
    }
    return names;
  }
  std::set<BlockName> held() const {
    const auto names = tier.names();
    return {names.begin(), names.end()};
  }

  TimeUs now = 1;
  EventLog events;
  std::deque<DiskJob> jobs;
  std::map<uint32_t, std::map<uint32_t, RecordHead>> files;
  std::map<uint32_t, std::vector<TableRow>> sealed;
  std::vector<std::byte> block = std::vector<std::byte>(block_bytes);
  DiskTier tier;
};

FoundSegment found_segment(uint32_t number, std::vector<uint32_t> blocks,
                           Digest fingerprint = some_fingerprint(), uint64_t bytes = block_bytes) {
  FoundSegment found;
  found.number = number;
  found.head = {number, bytes, 4, fingerprint};
  found.file_bytes = segment_bytes(found.head);
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    found.rows.push_back({i, disk_record(blocks[i], bytes)});
  }
  return found;
}

}  // namespace

TEST_CASE("disk tier: a block is there when it is written, and is told to be in that tier") {
  PlayedDisk disk;
  CHECK_FALSE(disk.tier.can_write(disk.now));  // it does not know yet of what size
  disk.tier.adopt(some_fingerprint(), block_bytes);
  for (uint32_t i = 0; i < limits::disk_writes_max; ++i) CHECK(disk.write(i));
  CHECK_FALSE(disk.write(99));  // more at once than it takes
  CHECK(disk.held().empty());
  CHECK(disk.end_one()->status.ok());
  CHECK(disk.tier.contains(disk_name(0)));
  CHECK_FALSE(disk.tier.contains(disk_name(1)));
  disk.end_all();
  CHECK(disk.held().size() == 4);
  CHECK(disk.told() == disk.held());
  // The segment is full: it has its table.
  CHECK(disk.sealed.at(1).size() == 4);
  CHECK(disk.tier.find(disk_name(2)) == disk_record(2, block_bytes));
  CHECK(disk.tier.read(disk_name(2), disk.block.data()).has_value());
  CHECK_FALSE(disk.tier.read(disk_name(9), disk.block.data()).has_value());
  disk.end_all();
  CHECK(disk.tier.stats().read == 1);
  CHECK(disk.tier.stats().written == 4);
  CHECK(disk.tier.is_idle());
}

TEST_CASE("disk tier: it keeps to its bytes, drops the oldest and keeps what was read") {
  PlayedDisk disk;
  disk.tier.adopt(some_fingerprint(), block_bytes);
  std::mt19937 random(3);
  for (uint32_t number = 0; number < 2000; ++number) {
    for (int tries = 0; !disk.write(number); ++tries) {
      REQUIRE(tries < 100);
      disk.end_one();
    }
    // Block 5 is read again and again, others now and then.
    for (const uint32_t wanted : {5u, static_cast<uint32_t>(random() % 2000)}) {
      if (disk.tier.read(disk_name(wanted), disk.block.data())) disk.end_all();
    }
    const DiskTierStats stats = disk.tier.stats();
    REQUIRE(stats.bytes <= disk_bytes);
    REQUIRE(disk.files.size() <= 32);
  }
  disk.end_all();
  CHECK(disk.tier.contains(disk_name(5)));
  CHECK(disk.tier.contains(disk_name(1999)));
  const DiskTierStats stats = disk.tier.stats();
  CHECK(stats.moved > 10);
  CHECK(stats.dropped > 1000);
  CHECK(stats.blocks == disk.held().size());
  CHECK(stats.blocks >= 100);
  CHECK(disk.told() == disk.held());
  CHECK(disk.tier.index_bytes() < 64 * 1024 + 64 * stats.blocks);
}

TEST_CASE("disk tier: a write that fails leaves no block, and nothing is written for a while") {
  PlayedDisk disk;
  disk.tier.adopt(some_fingerprint(), block_bytes);
  REQUIRE(disk.write(1));
  const auto outcome = disk.end_one(error(Code::exhausted, "the disk is full"));
  CHECK_FALSE(outcome->status.ok());
  CHECK(disk.held().empty());
  CHECK_FALSE(disk.write(2));
  disk.now += limits::disk_pause_us;
  CHECK(disk.write(2));
  disk.end_all();
  CHECK(disk.held() == std::set{disk_name(2)});
  CHECK(disk.tier.stats().failed == 1);
}

TEST_CASE("disk tier: a block that is damaged or cannot be read is forgotten and counted") {
  PlayedDisk disk;
  disk.tier.load({found_segment(1, {1, 2, 3})});
  CHECK(disk.held().size() == 3);
  CHECK(disk.told() == disk.held());
  REQUIRE(disk.tier.read(disk_name(1), disk.block.data()));
  const auto damaged = disk.end_one(error(Code::corrupt, "a bit fell over"));
  CHECK(damaged->status.error().code == Code::corrupt);
  REQUIRE(disk.tier.read(disk_name(2), disk.block.data()));
  disk.end_one(error(Code::unavailable, "input/output error"));
  CHECK(disk.held() == std::set{disk_name(3)});
  CHECK(disk.told() == disk.held());
  CHECK(disk.tier.stats().corrupt == 1);
  CHECK(disk.tier.stats().failed == 1);
}

TEST_CASE("disk tier: other fingerprints and sizes never match, and go first") {
  PlayedDisk disk;
  const Digest other = some_fingerprint('o');
  disk.tier.load({found_segment(1, {1, 2}), found_segment(2, {11, 12}, other),
                  found_segment(3, {21}, some_fingerprint(), 2 * block_bytes),
                  found_segment(4, {2, 3})});
  // The newest segment's are here at first.
  CHECK(disk.held() == std::set{disk_name(1), disk_name(2), disk_name(3)});
  CHECK(disk.tier.block_bytes_of(other) == block_bytes);
  CHECK_FALSE(disk.tier.block_bytes_of(some_fingerprint('x')).has_value());
  disk.tier.adopt(other, block_bytes);
  CHECK(disk.held() == std::set{disk_name(11), disk_name(12)});
  CHECK(disk.told() == disk.held());
  CHECK_FALSE(disk.tier.contains(disk_name(1)));
  CHECK_FALSE(disk.tier.read(disk_name(1), disk.block.data()).has_value());
  disk.tier.adopt(some_fingerprint('n'), block_bytes);
  CHECK(disk.held().empty());
  CHECK(disk.told().empty());
  disk.tier.adopt(some_fingerprint(), block_bytes);
  CHECK(disk.held().size() == 3);
  for (uint32_t number = 100; number < 230; ++number) {
    while (!disk.write(number)) disk.end_one();
  }
  disk.end_all();
  CHECK_FALSE(disk.files.contains(2));
  CHECK(disk.told() == disk.held());
  disk.tier.adopt(other, block_bytes);
  CHECK(disk.held().empty());
}

TEST_CASE("disk tier: a lower limit takes effect at the start; too low a one is no tier") {
  std::vector<FoundSegment> found;
  for (uint32_t i = 1; i <= 20; ++i) found.push_back(found_segment(i, {i}));
  PlayedDisk small(5 * segment);
  small.tier.load(found);
  CHECK(small.tier.stats().bytes <= 5 * segment);
  CHECK(small.held() ==
        std::set{disk_name(16), disk_name(17), disk_name(18), disk_name(19), disk_name(20)});
  PlayedDisk none(segment / 2);
  none.tier.adopt(some_fingerprint(), block_bytes);
  CHECK_FALSE(none.write(1));
}

TEST_CASE("disk tier: it can be finished at any time; what is written then has its table") {
  PlayedDisk disk;
  disk.tier.adopt(some_fingerprint(), block_bytes);
  REQUIRE(disk.write(1));
  REQUIRE(disk.write(2));
  disk.tier.finish();
  CHECK_FALSE(disk.write(3));
  CHECK_FALSE(disk.tier.is_idle());
  disk.end_all();
  CHECK(disk.tier.is_idle());
  CHECK(disk.sealed.at(1).size() == 2);
}
