// Dequantisation against blocks whose values ggml's own code gave, bit for bit.
#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/tensor.hpp"
#include "tests/support/quantize.hpp"
#include "tests/support/test_files.hpp"

using namespace troupe;
using namespace troupe::testing;
using nlohmann::json;

namespace {

Bytes from_hex(const std::string& hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

void check_case(const json& one, model::TensorType type) {
  const Bytes bytes = from_hex(one["hex"]);
  const auto expected = one["values"].get<std::vector<float>>();
  const model::Tensor tensor{"t", type, 1, static_cast<uint32_t>(expected.size()), bytes.data()};
  REQUIRE(tensor.bytes() == bytes.size());
  std::vector<float> values(expected.size());
  dequantize_row(tensor, 0, values.data());
  CHECK(bits_of(values) == bits_of(expected));
  // Our test support quantises these as the fixture's writer does.
  const bool same_quantiser = type == model::TensorType::f16 || type == model::TensorType::bf16 ||
                              type == model::TensorType::q8_0;
  if (one.contains("source") && same_quantiser) {
    CHECK(quantize(one["source"].get<std::vector<float>>(), type) == bytes);
  }
}

}  // namespace

TEST_CASE("dequantised blocks are bit-equal to ggml's") {
  const auto path = fixtures_dir() / "gguf" / "dequant.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  std::ifstream in(path);
  const json fixture = json::parse(in);
  size_t cases = 0;
  for (const auto& [name, entry] : fixture["types"].items()) {
    const uint32_t number = entry["ggml_type"];
    const model::TensorTypeInfo* known = model::tensor_type_info(number);
    CAPTURE(name);
    REQUIRE(known != nullptr);
    CHECK(known->name == name);
    CHECK(known->block_size == entry["block_elements"].get<uint32_t>());
    CHECK(known->block_bytes == entry["block_bytes"].get<uint32_t>());
    for (const json& one : entry["cases"]) {
      check_case(one, static_cast<model::TensorType>(number));
      ++cases;
    }
  }
  // F16 and BF16 once; the quantised types with real weights and with random bits.
  CHECK(cases == 48);
}
