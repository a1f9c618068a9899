// Segment files: what comes back is what was written, or nothing, whatever happened to the bytes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "kv/disk_folder.hpp"
#include "kv/limits.hpp"
#include "tests/kv/disk_blocks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::kv;
using namespace troupe::testing;

namespace {

constexpr size_t bytes = 3000;  // no multiple of a disk page
constexpr uint32_t places = 4;

SegmentHead small_head(uint32_t number = 1) {
  return {number, bytes, places, some_fingerprint()};
}

std::string inner(const TemporaryFolder& folder) {
  return folder.path("kv");
}

/// A segment with records 1 to `count`, sealed or not.
void write_segment(DiskFolder& folder, uint32_t count, bool is_sealed) {
  auto file = folder.create(small_head());
  REQUIRE(file);
  std::vector<TableRow> rows;
  for (uint32_t i = 0; i < count; ++i) {
    const RecordHead record = disk_record(i + 1, bytes);
    REQUIRE((*file)->write(i, record, disk_block(i + 1, bytes).data()));
    rows.push_back({i, record});
  }
  if (is_sealed) REQUIRE((*file)->seal(rows));
}

/// The path of a folder with a segment of three records, which nobody holds.
std::string folder_of_three(const MemoryFolder& temporary, bool is_sealed) {
  const std::string path = temporary.path("kv") + (is_sealed ? "1" : "0");
  auto own = DiskFolder::open(path, DiskFolder::Use::own);
  REQUIRE(own);
  write_segment(**own, 3, is_sealed);
  return path;
}

/// Reads everything that is said to be there: each block is right or refused. Gives how many were
/// right.
uint32_t read_all(const DiskFolder& folder) {
  const FoundSegment found = folder.find(1);
  if (found.unfit) return 0;
  auto file = folder.open(1);
  REQUIRE(file);
  uint32_t right = 0;
  std::vector<std::byte> block(bytes);
  for (const TableRow& row : found.rows) {
    CHECK(found.head.block_bytes == bytes);
    CHECK(row.place < places);
    if (!(*file)->read(row.place, row.head, block.data())) continue;
    uint32_t number = 0;
    std::memcpy(&number, row.head.name.bytes.data() + 4, sizeof number);
    CHECK(row.head == disk_record(number, bytes));
    CHECK(block == disk_block(number, bytes));
    ++right;
  }
  return right;
}

std::vector<char> slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const std::string& path, const std::vector<char>& data) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(data.data(), static_cast<std::streamsize>(data.size()));
}

}  // namespace

TEST_CASE("segment: what was written is read, before and after it is sealed, by its owner alone") {
  TemporaryFolder temporary;
  for (const bool is_sealed : {false, true}) {
    CAPTURE(is_sealed);
    const std::string path = inner(temporary) + (is_sealed ? "1" : "0");
    auto folder = DiskFolder::open(path, DiskFolder::Use::own);
    REQUIRE(folder);
    write_segment(**folder, 3, is_sealed);
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    REQUIRE(::stat((path + "/" + segment_name(1)).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK((*folder)->find(1).rows.size() == 3);
    CHECK(read_all(**folder) == 3);
    // An owner seals what was left open.
    const auto all = (*folder)->find_all();
    REQUIRE(all);
    REQUIRE(all->size() == 1);
    CHECK((*folder)->find(1).is_sealed);
    CHECK(read_all(**folder) == 3);
  }
}

TEST_CASE("segment: a folder has one owner, is private, and says what is wrong with it") {
  TemporaryFolder temporary;
  const std::string path = inner(temporary);
  CHECK(DiskFolder::open(path, DiskFolder::Use::look).error().code == Code::not_found);
  {
    auto folder = DiskFolder::open(path, DiskFolder::Use::own);
    REQUIRE(folder);
    for (const auto use : {DiskFolder::Use::own, DiskFolder::Use::look}) {
      const auto second = DiskFolder::open(path, use);
      REQUIRE_FALSE(second);
      CHECK(second.error().code == Code::failed_precondition);
      CHECK(second.error().what == path + " is in use by process " + std::to_string(::getpid()));
    }
  }
  {
    auto one = DiskFolder::open(path, DiskFolder::Use::look);
    auto two = DiskFolder::open(path, DiskFolder::Use::look);
    CHECK(one.ok());
    CHECK(two.ok());
    CHECK_FALSE(DiskFolder::open(path, DiskFolder::Use::own));
  }
  REQUIRE(::chmod(path.c_str(), 0750) == 0);
  const auto shared = DiskFolder::open(path, DiskFolder::Use::own);
  REQUIRE_FALSE(shared);
  CHECK(shared.error().hint.find("chmod 700") != std::string::npos);
  const std::string link = path + "-link";
  std::filesystem::create_symlink(path, link);
  CHECK(DiskFolder::open(link, DiskFolder::Use::own).error().code == Code::invalid_argument);
  spill(path + "-file", {'x'});
  CHECK(DiskFolder::open(path + "-file", DiskFolder::Use::own).error().code ==
        Code::invalid_argument);
}

TEST_CASE("segment: every byte flipped in turn gives right blocks or none, sealed and not") {
  const MemoryFolder temporary;
  for (const bool is_sealed : {false, true}) {
    CAPTURE(is_sealed);
    const std::string path = folder_of_three(temporary, is_sealed);
    auto folder = DiskFolder::open(path, DiskFolder::Use::look);
    REQUIRE(folder);
    const std::string file = path + "/" + segment_name(1);
    const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    const std::vector<char> whole = slurp(file);
    REQUIRE(whole.size() >= record_offset(small_head(), 3));
    std::mt19937 random(7);
    size_t harmless = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      const char changed = static_cast<char>(whole[at] ^ (1 << random() % 8));
      REQUIRE(::pwrite(fd, &changed, 1, static_cast<off_t>(at)) == 1);
      const uint32_t right = read_all(**folder);
      // One byte is in one record at most, or in the head, without which nothing is there.
      const bool is_fine = right >= 2 || (right == 0 && at < 72);
      if (!is_fine) FAIL("byte " << at << ": " << right << " blocks");
      harmless += right == 3 ? 1 : 0;
      REQUIRE(::pwrite(fd, &whole[at], 1, static_cast<off_t>(at)) == 1);
    }
    ::close(fd);
    // Padding and, without a table, its place.
    CHECK(harmless > 3 * (record_bytes(bytes) - disk_page_bytes - bytes));
    CHECK(read_all(**folder) == 3);
  }
}

TEST_CASE("segment: cut off anywhere it gives the records that are whole") {
  const MemoryFolder temporary;
  for (const bool is_sealed : {false, true}) {
    CAPTURE(is_sealed);
    const std::string path = folder_of_three(temporary, is_sealed);
    auto folder = DiskFolder::open(path, DiskFolder::Use::look);
    REQUIRE(folder);
    const std::string file = path + "/" + segment_name(1);
    const std::vector<char> whole = slurp(file);
    const SegmentHead head = small_head();
    for (size_t left = whole.size(); left-- > 0;) {
      // Every length near a border, some of the others.
      const size_t within = left % 4096;
      if (within > 80 && within < 4000 && left % 61 != 0) continue;
      REQUIRE(::truncate(file.c_str(), static_cast<off_t>(left)) == 0);
      uint32_t wanted = 0;
      for (uint32_t i = 0; i < 3; ++i) wanted += record_offset(head, i + 1) <= left ? 1 : 0;
      if (left < disk_page_bytes) wanted = 0;
      const uint32_t right = read_all(**folder);
      if (right != wanted) FAIL(left << " bytes: " << right << " blocks, not " << wanted);
    }
  }
}

TEST_CASE("segment: impossible numbers are refused before anything is allocated for them") {
  const auto refused = [](SegmentHead head) {
    DiskPage page;
    encode(head, page);
    return parse_segment_head(page.bytes);
  };
  CHECK(refused(small_head()).ok());
  CHECK(*refused(small_head()) == small_head());
  SegmentHead head = small_head();
  head.block_bytes = limits::disk_block_bytes_max + 1;
  CHECK(refused(head).error().code == Code::corrupt);
  head = small_head();
  head.block_bytes = 0;
  CHECK(refused(head).error().code == Code::corrupt);
  head = small_head();
  head.records_max = limits::segment_records_max + 1;
  CHECK(refused(head).error().code == Code::corrupt);
  head.records_max = 0;
  CHECK(refused(head).error().code == Code::corrupt);
  CHECK(parse_segment_head({}).error().code == Code::corrupt);
}

TEST_CASE("segment: a record is only what it says at its own place of its own segment") {
  DiskPage page;
  const RecordHead record = disk_record(3, bytes);
  encode(record, small_head(1), 2, page);
  CHECK(parse_record_head(page.bytes, small_head(1), 2) == record);
  CHECK_FALSE(parse_record_head(page.bytes, small_head(1), 1));
  CHECK_FALSE(parse_record_head(page.bytes, small_head(2), 2));
  const TableRow row{3, record};
  const auto table = encode_table({&row, 1}, small_head(1));
  CHECK(parse_table(table, small_head(1)) == std::vector<TableRow>{row});
  CHECK_FALSE(parse_table(table, small_head(2)));
}

TEST_CASE("segment: files of other names, kinds and versions are left alone or said") {
  TemporaryFolder temporary;
  const std::string path = inner(temporary);
  auto folder = DiskFolder::open(path, DiskFolder::Use::own);
  REQUIRE(folder);
  spill(path + "/notes.txt", {'x'});
  spill(path + "/segment-0000000g.kv", {'x'});
  std::filesystem::create_directory(path + "/" + segment_name(7));
  // Of a later version: it is kept for the release that wrote it.
  DiskPage page;
  encode(small_head(9), page);
  page.bytes[8] = std::byte{2};
  const uint32_t crc = crc32c({page.bytes.data(), 68});
  std::memcpy(page.bytes.data() + 68, &crc, sizeof crc);
  std::vector<char> later(page.bytes.size());
  std::memcpy(later.data(), page.bytes.data(), later.size());
  spill(path + "/" + segment_name(9), later);
  // Nothing at all, from a kill right after it was made.
  spill(path + "/" + segment_name(8), {});
  const auto found = (*folder)->find_all();
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].number == 7);
  CHECK((*found)[0].unfit.has_value());
  CHECK((*found)[1].number == 9);
  CHECK((*found)[1].unfit->code == Code::unsupported);
  CHECK(std::filesystem::exists(path + "/notes.txt"));
  CHECK(std::filesystem::exists(path + "/" + segment_name(9)));
  CHECK_FALSE(std::filesystem::exists(path + "/" + segment_name(8)));
}
