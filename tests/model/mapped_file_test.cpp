#include "model/mapped_file.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "model/byte_reader.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/test_files.hpp"

using namespace troupe;
using troupe::model::ByteReader;
using troupe::model::MappedFile;

TEST_CASE("a mapped file has the file's bytes") {
  const testing::TemporaryFile file(".bin");
  const testing::Bytes bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  testing::write_file(file.path(), bytes);
  const auto mapped = MappedFile::open(file.path());
  REQUIRE(mapped.ok());
  const auto view = (*mapped)->bytes();
  CHECK(std::vector(view.begin(), view.end()) == bytes);
}

TEST_CASE("what cannot be mapped is said with its path") {
  const testing::TemporaryFile file(".bin");
  const auto missing = MappedFile::open(file.path());
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().what.find(file.path()) != std::string::npos);

  testing::write_file(file.path(), {});
  const auto empty = MappedFile::open(file.path());
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().code == Code::corrupt);

  const auto folder = MappedFile::open(testing::source_folder());
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().code == Code::invalid_argument);
}

TEST_CASE("a reader gives nothing beyond the end and does not move") {
  testing::Bytes bytes;
  testing::put<uint32_t>(bytes, 0x04030201);
  testing::put<uint16_t>(bytes, 7);
  ByteReader reader(bytes);
  CHECK(reader.read<uint64_t>() == std::nullopt);
  CHECK(reader.offset() == 0);
  CHECK(reader.read<uint8_t>() == uint8_t{1});
  CHECK(reader.take_text(3) == std::string_view("\x02\x03\x04"));
  CHECK_FALSE(reader.take(3).has_value());
  CHECK_FALSE(reader.take(~uint64_t{0}).has_value());
  CHECK(reader.read<uint16_t>() == uint16_t{7});
  CHECK(reader.remaining() == 0);
  CHECK(reader.read<uint8_t>() == std::nullopt);
  CHECK(reader.take(0).has_value());
}
