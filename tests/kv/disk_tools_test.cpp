// What troupe kv does to a folder.
#include "kv/disk_tools.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/kv/disk_blocks.hpp"

using namespace troupe;
using namespace troupe::kv;
using namespace troupe::testing;

namespace {

constexpr size_t bytes = 4096;

std::unique_ptr<DiskFolder> owned(const std::string& path) {
  auto folder = DiskFolder::open(path, DiskFolder::Use::own);
  REQUIRE(folder);
  return std::move(*folder);
}

/// A sealed segment with the blocks [first, first + count).
void add_segment(DiskFolder& folder, uint32_t number, uint32_t first, uint32_t count,
                 Digest fingerprint = some_fingerprint()) {
  auto file = folder.create({number, bytes, count, fingerprint});
  REQUIRE(file);
  std::vector<TableRow> rows;
  for (uint32_t i = 0; i < count; ++i) {
    const RecordHead record = disk_record(first + i, bytes);
    REQUIRE((*file)->write(i, record, disk_block(first + i, bytes).data()));
    rows.push_back({i, record});
  }
  REQUIRE((*file)->seal(rows));
}

void damage(const std::string& path, uint32_t number, uint32_t place) {
  const SegmentHead head{number, bytes, 3, {}};
  const int fd = ::open((path + "/" + segment_name(number)).c_str(), O_RDWR | O_CLOEXEC);
  const char wrong = 'x';
  const auto at = static_cast<off_t>(record_offset(head, place) + disk_page_bytes + 99);
  REQUIRE(::pwrite(fd, &wrong, 1, at) == 1);
  ::close(fd);
}

}  // namespace

TEST_CASE("kv tools: verify reads every block and names what is damaged") {
  const MemoryFolder memory;
  const std::string path = memory.path("kv");
  auto folder = owned(path);
  add_segment(*folder, 1, 10, 3);
  add_segment(*folder, 2, 20, 3);
  auto report = verify_blocks(*folder);
  REQUIRE(report);
  CHECK(report->whole == 6);
  CHECK(report->damaged == 0);
  damage(path, 2, 1);
  report = verify_blocks(*folder);
  REQUIRE(report);
  CHECK(report->whole == 5);
  CHECK(report->damaged == 1);
  REQUIRE(report->problems.size() == 1);
  CHECK(report->problems[0].find(hex(disk_name(21))) != std::string::npos);
  CHECK(report->problems[0].find("segment-00000002.kv") != std::string::npos);
}

TEST_CASE("kv tools: copying takes what is whole and not there yet, to segments of its own") {
  const MemoryFolder memory;
  auto from = owned(memory.path("from"));
  auto to = owned(memory.path("to"));
  add_segment(*from, 1, 10, 3);
  add_segment(*from, 2, 20, 3, some_fingerprint('g'));
  add_segment(*from, 3, 30, 3);
  add_segment(*to, 7, 30, 3);
  damage(memory.path("from"), 1, 0);
  const auto report = copy_blocks(*from, *to);
  REQUIRE(report);
  CHECK(report->copied == 5);
  CHECK(report->known == 3);
  CHECK(report->damaged == 1);
  const auto there = to->find_all();
  REQUIRE(there);
  REQUIRE(there->size() == 3);
  CHECK((*there)[0].number == 7);
  CHECK((*there)[1].rows.size() == 2);
  CHECK((*there)[2].head.fingerprint == some_fingerprint('g'));
  CHECK(verify_blocks(*to)->whole == 8);
  CHECK(verify_blocks(*to)->damaged == 0);
  // Again: nothing is missing but what is damaged.
  const auto again = copy_blocks(*from, *to);
  REQUIRE(again);
  CHECK(again->copied == 0);
  CHECK(again->known == 8);
  CHECK(to->numbers()->size() == 3);
}

TEST_CASE("kv tools: evicting removes the oldest until the rest fits") {
  const MemoryFolder memory;
  auto folder = owned(memory.path("kv"));
  for (uint32_t number = 1; number <= 4; ++number) add_segment(*folder, number, 10 * number, 3);
  const uint64_t each = folder->find(1).file_bytes;
  auto report = evict_segments(*folder, 2 * each + 5);
  REQUIRE(report);
  CHECK(report->segments == 2);
  CHECK(report->blocks == 6);
  CHECK(report->bytes_left == 2 * each);
  CHECK(*folder->numbers() == std::vector<uint32_t>{3, 4});
  report = evict_segments(*folder, 0);
  REQUIRE(report);
  CHECK(report->bytes_left == 0);
  CHECK(folder->numbers()->empty());
}
