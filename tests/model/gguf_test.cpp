#include "model/gguf.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/gguf_fields.hpp"
#include "tests/support/gguf_writer.hpp"

using namespace troupe;
using namespace troupe::model;
using troupe::testing::Bytes;
using troupe::testing::GgufWriter;
using troupe::testing::put;

namespace {

/// One key of every scalar type.
GgufWriter with_every_type() {
  GgufWriter w;
  w.add_scalar<uint8_t>("u8", 0, 200);
  w.add_scalar<int8_t>("i8", 1, -3);
  w.add_scalar<uint16_t>("u16", 2, 60000);
  w.add_scalar<int16_t>("i16", 3, 300);
  w.add_u32("u32", 4000000000u);
  w.add_scalar<int32_t>("i32", 5, 70000);
  w.add_f32("f32", 0.5f);
  w.add_bool("boolean", true);
  w.add_string("string", "text");
  w.add_scalar<uint64_t>("u64", 10, uint64_t{1} << 40);
  w.add_scalar<int64_t>("i64", 11, int64_t{1} << 41);
  w.add_scalar<double>("f64", 12, 0.1);
  w.add_strings("strings", {"a", "", "ccc"});
  w.add_i32s("numbers", {1, -2, 3});
  w.add_strings("none", {});
  return w;
}

}  // namespace

TEST_CASE("metadata of every type is read") {
  const Bytes bytes = with_every_type().build();
  const auto parsed = GgufFile::parse(bytes);
  REQUIRE(parsed.ok());
  const GgufFile& file = *parsed;
  CHECK(find_unsigned(file, "u8").value() == 200u);
  CHECK(find_unsigned(file, "u16").value() == 60000u);
  CHECK(find_unsigned(file, "i16").value() == 300u);
  CHECK(find_unsigned(file, "u32").value() == 4000000000u);
  CHECK(find_unsigned(file, "i32").value() == 70000u);
  CHECK(find_unsigned(file, "u64").value() == uint64_t{1} << 40);
  CHECK(find_unsigned(file, "i64").value() == uint64_t{1} << 41);
  CHECK(find_float(file, "f32").value() == 0.5);
  CHECK(find_float(file, "f64").value() == 0.1);
  CHECK(find_bool(file, "boolean").value() == true);
  CHECK(find_text(file, "string").value() == "text");
  CHECK(find_texts(file, "strings").value() == std::vector<std::string_view>{"a", "", "ccc"});
  CHECK(find_integers(file, "numbers").value() == std::vector<int32_t>{1, -2, 3});
  CHECK(find_texts(file, "none").value()->empty());
  CHECK_FALSE(find_text(file, "absent").value().has_value());
  CHECK(file.value("absent") == nullptr);
}

TEST_CASE("a value of another type than its reader expects is an error that names both") {
  const Bytes bytes = with_every_type().build();
  const auto parsed = GgufFile::parse(bytes);
  REQUIRE(parsed.ok());
  CHECK(find_unsigned(*parsed, "i8").error().what == "the metadata key i8 is -3");
  CHECK(find_unsigned(*parsed, "f32").error().message() ==
        "the metadata key f32 has the type f32 (an integer is expected)");
  CHECK(find_float(*parsed, "u8").error().code == Code::corrupt);
  CHECK(find_bool(*parsed, "u8").error().code == Code::corrupt);
  CHECK(find_text(*parsed, "strings").error().what ==
        "the metadata key strings has the type array of string");
  CHECK(find_texts(*parsed, "numbers").error().code == Code::corrupt);
  CHECK(find_integers(*parsed, "strings").error().code == Code::corrupt);
  CHECK(required(find_text(*parsed, "absent"), "absent").error().what ==
        "the metadata key absent is missing");
}

TEST_CASE("nested arrays are walked to a limited depth") {
  const auto nested = [](int depth) {
    Bytes bytes;
    for (int i = 1; i < depth; ++i) {
      put<uint32_t>(bytes, 9);
      put<uint64_t>(bytes, 1);
    }
    put<uint32_t>(bytes, 4);
    put<uint64_t>(bytes, 2);
    put<uint64_t>(bytes, 0);
    GgufWriter w;
    w.pairs.push_back({"nested", 9, bytes});
    w.add_u32("after", 5);
    return w.build();
  };
  const Bytes allowed = nested(4);
  const auto parsed = GgufFile::parse(allowed);
  REQUIRE(parsed.ok());
  CHECK(find_unsigned(*parsed, "after").value() == 5u);
  const auto refused = GgufFile::parse(nested(5));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
}

TEST_CASE("versions 2 and 3 and any alignment that is a power of two") {
  for (const uint32_t version : {2u, 3u}) {
    for (const uint32_t alignment : {8u, 32u, 4096u}) {
      GgufWriter w;
      w.version = version;
      w.alignment = alignment;
      w.add_u32("general.alignment", alignment);
      w.add_tensor("a", {2}, 0, Bytes(8, std::byte{1}));
      w.add_tensor("b", {1, 3}, 0, Bytes(12, std::byte{2}));
      const Bytes bytes = w.build();
      const auto parsed = GgufFile::parse(bytes);
      REQUIRE(parsed.ok());
      CHECK(parsed->version() == version);
      const GgufTensor* b = parsed->tensor("b");
      REQUIRE(b != nullptr);
      CHECK(b->dims == std::vector<uint64_t>{1, 3});
      CHECK(Bytes(b->data.begin(), b->data.end()) == Bytes(12, std::byte{2}));
      CHECK(static_cast<size_t>(b->data.data() - bytes.data()) % alignment == 0);
      CHECK(parsed->tensor("c") == nullptr);
    }
  }
}

TEST_CASE("a tensor of a type that this build cannot read has no bytes") {
  GgufWriter w;
  w.add_tensor("a", {256}, 36, Bytes(144));
  const Bytes bytes = w.build();
  const auto parsed = GgufFile::parse(bytes);
  REQUIRE(parsed.ok());
  CHECK(parsed->tensor("a")->type == 36u);
  CHECK(parsed->tensor("a")->data.empty());
}
