// Any bytes as a safetensors file, its parts put together by one of the quantisation methods, or as
// the index of a sharded checkpoint. The first byte chooses; what was read can be read in full.
#include "model/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "model/quantized.hpp"
#include "model/shard_index.hpp"
#include "tests/support/safetensors_writer.hpp"

using namespace troupe;
using namespace troupe::model;
using testing::Bytes;
using testing::SafetensorsWriter;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

namespace {

constexpr const char* configs[] = {
    "{}",
    R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [2, 4]}})",
    R"({"quantization_config": {"quant_method": "compressed-tensors"}})",
    R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})",
    R"({"quantization_config": {"quant_method": "awq", "bits": 4}})",
    R"({"quantization_config": {"quant_method": "mxfp4"}})",
};

template <class T>
void check_failure(const Result<T>& result) {
  if (result.ok()) return;
  if (result.error().code == Code::internal || result.error().what.empty()) std::abort();
}

void read_rows(const TensorTable& table) {
  for (const auto& [name, stored] : table.all()) {
    uint64_t cols = 1, rows = 1;
    if (!stored.shape.empty()) {
      cols = stored.shape.back();
      for (size_t i = 0; i + 1 < stored.shape.size(); ++i) rows *= stored.shape[i];
    }
    if (stored.read_row == nullptr &&
        stored.data.size() != rows * cols * info(stored.type).block_bytes) {
      std::abort();
    }
    if (!is_weight_type(stored.type) || rows == 0 || cols == 0 || rows > UINT32_MAX ||
        cols > UINT32_MAX) {
      continue;
    }
    Tensor tensor;
    tensor.type = stored.type;
    tensor.rows = static_cast<uint32_t>(rows);
    tensor.cols = static_cast<uint32_t>(cols);
    if (stored.read_row == nullptr) tensor.data = stored.data.data();
    tensor.read_row = stored.read_row;
    std::vector<float> values(tensor.cols);
    for (const uint32_t row : {0u, tensor.rows - 1}) dequantize_row(tensor, row, values.data());
  }
}

void use_file(std::span<const std::byte> bytes, const char* config_text) {
  auto parsed = parse_safetensors(bytes);
  check_failure(parsed);
  if (!parsed.ok()) return;
  TensorTable table;
  for (StoredTensor& tensor : parsed->tensors) {
    if (!table.add(std::move(tensor)).ok()) std::abort();  // the header has each name once
  }
  const auto config = parse_json(config_text);
  const Status converted = convert_quantized(*config, table);
  if (!converted.ok() && converted.error().what.empty()) std::abort();
  read_rows(table);
}

void use_index(std::string_view text) {
  const auto json = parse_json(text);
  check_failure(json);
  if (!json.ok()) return;
  const auto index = read_shard_index(*json);
  check_failure(index);
  if (!index.ok()) return;
  for (const auto& [file, names] : *index) {
    if (!is_plain_file_name(file) || file.find('/') != std::string::npos || names.empty()) {
      std::abort();
    }
  }
}

using Random = std::minstd_rand;

std::string shape_of(std::initializer_list<uint32_t> dims) {
  std::string text = "[";
  for (const uint32_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

Bytes noise(Random& random, size_t size) {
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// A valid file with the parts of `method` (an index into configs).
SafetensorsWriter random_file(Random& random, size_t method) {
  SafetensorsWriter w;
  const auto small = [&random](uint32_t most) {
    return 1 + static_cast<uint32_t>(random() % most);
  };
  if (method == 1 || method == 2) {
    const uint32_t rows = small(5), cols = small(9);
    w.add("a.weight", random() % 2 == 0 ? "F8_E4M3" : "I8", shape_of({rows, cols}),
          noise(random, rows * cols));
    const uint32_t scale_rows = method == 1 ? (rows + 1) / 2 : rows;
    const uint32_t scale_cols = method == 1 ? (cols + 3) / 4 : 1;
    w.add(method == 1 ? "a.weight_scale_inv" : "a.weight_scale", "F32",
          shape_of({scale_rows, scale_cols}), noise(random, size_t{scale_rows} * scale_cols * 4));
  } else if (method == 3 || method == 4) {
    const uint32_t groups = small(2), in = 32 * groups, out = 8 * small(2);
    if (method == 3) {
      w.add("a.qweight", "I32", shape_of({in / 8, out}), noise(random, size_t{in} / 8 * out * 4));
      w.add("a.g_idx", "I32", shape_of({in}), Bytes(size_t{in} * 4));
    } else {
      w.add("a.qweight", "I32", shape_of({in, out / 8}), noise(random, size_t{in} * out / 2));
    }
    w.add("a.qzeros", "I32", shape_of({groups, out / 8}), noise(random, size_t{groups} * out / 2));
    w.add("a.scales", "F16", shape_of({groups, out}), noise(random, size_t{groups} * out * 2));
  } else if (method == 5) {
    const uint32_t rows = small(3), blocks = small(2);
    w.add("a_blocks", "U8", shape_of({2, rows, blocks, 16}),
          noise(random, size_t{32} * rows * blocks));
    w.add("a_scales", "U8", shape_of({2, rows, blocks}), noise(random, size_t{2} * rows * blocks));
  } else {
    const uint32_t rows = small(3), cols = small(5);
    w.add("a", "BF16", shape_of({rows, cols}), noise(random, size_t{rows} * cols * 2));
    w.add("b", "F32", "[]", noise(random, 4));
    w.extra = R"("__metadata__":{"format":"pt"},)";
  }
  return w;
}

/// Spoils one part that the writer knows and that single bytes seldom reach.
void spoil(SafetensorsWriter& w, Random& random) {
  constexpr uint64_t odd[] = {0,      1,          2,          7,          8,    255,
                              65'536, 0xffffffff, 1ull << 40, 1ull << 63, ~0ull};
  constexpr const char* shapes[] = {"[]",
                                    "[0]",
                                    "[1]",
                                    "[2,3]",
                                    "[4294967296,4294967296]",
                                    "[18446744073709551615]",
                                    "[0,18446744073709551615]",
                                    "[-1]",
                                    "[1.5]",
                                    "[1,1,1,1,1,1,1,1,1]",
                                    "5",
                                    "[[1]]",
                                    "null"};
  constexpr const char* dtypes[] = {"F32", "F16",  "BF16",    "F64",     "I8",      "U8", "I32",
                                    "I64", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", ""};
  constexpr const char* names[] = {"a.weight", "a.qweight",   "a.qzeros", "a.scales",
                                   "a.g_idx",  "a_blocks",    "a_scales", "a.weight_scale",
                                   "",         "__metadata__"};
  SafetensorsWriter::Entry& entry = w.entries[random() % w.entries.size()];
  switch (random() % 7) {
    case 0:
      entry.shape = shapes[random() % std::size(shapes)];
      break;
    case 1:
      entry.dtype = dtypes[random() % std::size(dtypes)];
      break;
    case 2:
      entry.begin = odd[random() % std::size(odd)];
      break;
    case 3:
      entry.end = odd[random() % std::size(odd)];
      break;
    case 4:
      entry.name = names[random() % std::size(names)];
      break;
    case 5:
      w.data.resize(random() % (w.data.size() + 3));
      break;
    default:
      if (w.entries.size() > 1) w.entries.pop_back();
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  Random random(seed);
  if (random() % 4 != 0) return LLVMFuzzerMutate(data, size, size_max);
  const size_t method = random() % std::size(configs);
  SafetensorsWriter writer = random_file(random, method);
  for (uint64_t changes = random() % 3; changes > 0; --changes) spoil(writer, random);
  const Bytes bytes = writer.build();
  if (bytes.size() + 1 > size_max) return LLVMFuzzerMutate(data, size, size_max);
  data[0] = static_cast<uint8_t>(method + 1);
  std::memcpy(data + 1, bytes.data(), bytes.size());
  return bytes.size() + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  // A copy of exactly this size, so that the sanitizer sees a read beyond the end.
  const Bytes copy(rest.begin(), rest.end());
  const size_t choice = data[0] % (std::size(configs) + 1);
  if (choice == 0) {
    use_index({reinterpret_cast<const char*>(copy.data()), copy.size()});
  } else {
    use_file(copy, configs[choice - 1]);
  }
  return 0;
}
