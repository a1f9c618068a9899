#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/concat.hpp"
#include "model/tensor.hpp"
#include "tests/check/model_cases.hpp"

namespace troupe::check {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Nothing where the text is no hexadecimal.
std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    for (const char c : text.substr(i, 2)) {
      const size_t digit = std::string("0123456789abcdef").find(static_cast<char>(c | 0x20));
      if (digit == std::string::npos) return {};
      value = value * 16 + static_cast<unsigned>(digit);
    }
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

/// Empty: the type's blocks have the sizes that the cases say.
std::string fault_of_type(const Json& entry) {
  const auto number = entry.at("ggml_type").get<uint32_t>();
  const model::TensorTypeInfo* known = model::tensor_type_info(number);
  if (known == nullptr || !model::is_weight_type(static_cast<model::TensorType>(number))) {
    return concat("the type ", number,
                  " is not read; supported: ", model::supported_tensor_types());
  }
  const auto elements = entry.at("block_elements").get<uint32_t>();
  const auto bytes = entry.at("block_bytes").get<uint32_t>();
  if (known->block_size == elements && known->block_bytes == bytes) return {};
  return concat("a block has ", known->block_size, " elements in ", known->block_bytes,
                " bytes, not ", elements, " in ", bytes);
}

void check_case(const Json& one, uint32_t number, CaseResult& result) {
  const std::vector<std::byte> bytes = from_hex(one.at("hex"));
  const auto expected = one.at("values").get<std::vector<float>>();
  model::Tensor tensor;
  tensor.type = static_cast<model::TensorType>(number);
  tensor.rows = 1;
  tensor.cols = static_cast<uint32_t>(expected.size());
  tensor.data = bytes.data();
  if (expected.empty() || expected.size() % model::info(tensor.type).block_size != 0 ||
      tensor.bytes() != bytes.size()) {
    result.outcome = Outcome::failed;
    result.why = concat(bytes.size(), " bytes are not ", expected.size(), " values");
    return;
  }
  std::vector<float> values(expected.size());
  dequantize_row(tensor, 0, values.data());
  double largest = 0.0;
  for (size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::fabs(double{values[i]} - double{expected[i]}));
    if (std::bit_cast<uint32_t>(values[i]) != std::bit_cast<uint32_t>(expected[i]) &&
        result.why.empty()) {
      result.outcome = Outcome::failed;
      result.why = concat("value ", i, " is ", values[i], ", not ", expected[i]);
    }
  }
  result.max_abs_diff = largest;
}

}  // namespace

Status check_dequant(const std::string& path, Report& report) {
  const fs::path file = fs::is_directory(path) ? fs::path(path) / "dequant.json" : fs::path(path);
  std::ifstream in(file);
  const Json fixture = Json::parse(in, nullptr, false);
  if (!fixture.is_object() || !fixture.contains("types") || !fixture["types"].is_object()) {
    return error(Code::not_found, concat(file.string(), ": there are no blocks"),
                 "a JSON object with types, or a folder with dequant.json");
  }
  for (const auto& [name, entry] : fixture["types"].items()) {
    const std::string fault = fault_of_type(entry);
    int number = 0;
    for (const Json& one : entry.at("cases")) {
      CaseResult result;
      result.group = name;
      result.id = concat(name, "/", one.value("kind", "case"), "/", number++);
      if (fault.empty()) {
        check_case(one, entry["ggml_type"], result);
      } else {
        result.outcome = Outcome::failed;
        result.why = fault;
      }
      report.cases.push_back(std::move(result));
    }
  }
  return {};
}

}  // namespace troupe::check
