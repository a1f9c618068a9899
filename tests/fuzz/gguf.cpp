// Any bytes as a model file: an error or a model of which every promised byte can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "model/parse_model.hpp"
#include "tests/support/gguf_writer.hpp"

using namespace troupe;
using testing::Bytes;
using testing::GgufWriter;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

namespace {

void read_rows(const model::Tensor& tensor) {
  std::vector<float> row(tensor.cols);
  for (const uint32_t index : {0u, tensor.rows - 1}) dequantize_row(tensor, index, row.data());
}

void read_all(const model::Model& m) {
  read_rows(m.weights.token_embedding);
  read_rows(m.weights.output_norm);
  read_rows(m.weights.output);
  for (const model::LayerWeights& l : m.weights.layers) {
    for (const model::Tensor* tensor :
         {&l.attention_norm, &l.query, &l.key, &l.value, &l.attention_output, &l.ffn_norm,
          &l.ffn.gate, &l.ffn.up, &l.ffn.down}) {
      read_rows(*tensor);
    }
  }
  const model::ModelConfig& c = m.config;
  if (c.num_heads % c.num_kv_heads != 0 || c.rope.inverse_frequency.size() * 2 != c.rope.dim) {
    std::abort();
  }
  const size_t tokens = m.tokenizer.tokens.size();
  if (tokens != 0 && tokens != c.vocab_size) std::abort();
  for (const int32_t id : m.tokenizer.stop_ids) {
    if (id < 0 || static_cast<size_t>(id) >= tokens) std::abort();
  }
}

uint64_t odd_number(std::minstd_rand& random) {
  constexpr uint64_t odd[] = {0,          1,          2,          3,          7,
                              8,          16,         31,         33,         255,
                              65'535,     1u << 20,   0x7fffffff, 0x80000000, 0xffffffff,
                              1ull << 32, 1ull << 40, 1ull << 63, ~0ull - 31, ~0ull};
  return odd[random() % std::size(odd)];
}

/// A valid small model of random shape.
GgufWriter random_model(std::minstd_rand& random) {
  testing::TinyLlamaOptions o;
  o.layers = 1 + static_cast<uint32_t>(random() % 2);
  o.hidden = 32;
  o.heads = 2;
  o.kv_heads = 1 + static_cast<uint32_t>(random() % 2);
  o.head_dim = 16;
  o.ffn = 32;
  o.tokenizer = random() % 2 == 0;
  o.vocab = o.tokenizer ? 262 : 4;
  constexpr model::TensorType types[] = {model::TensorType::f32,  model::TensorType::f16,
                                         model::TensorType::q8_0, model::TensorType::q4_1,
                                         model::TensorType::q4_0, model::TensorType::bf16};
  o.type = types[random() % std::size(types)];
  o.tied = random() % 2 == 0;
  o.rope_freqs = random() % 2 == 0;
  return testing::tiny_llama(o);
}

/// Spoils one part that the writer knows and that single bytes seldom reach.
void spoil(GgufWriter& w, std::minstd_rand& random) {
  GgufWriter::TensorEntry& tensor = w.tensors[random() % w.tensors.size()];
  GgufWriter::Pair& pair = w.pairs[random() % w.pairs.size()];
  switch (random() % 9) {
    case 0:
      if (tensor.dims.empty()) tensor.dims.push_back(1);  // an earlier change took them all
      tensor.dims[random() % tensor.dims.size()] = odd_number(random);
      break;
    case 1:
      tensor.dims.resize(random() % 6, 1);
      break;
    case 2:
      tensor.offset = odd_number(random);
      break;
    case 3:
      tensor.type = static_cast<uint32_t>(random() % 42);
      break;
    case 4:
      pair.type = static_cast<uint32_t>(random() % 14);
      break;
    case 5:
      w.set_u32(std::string(pair.key), static_cast<uint32_t>(odd_number(random)));
      break;
    case 6:
      w.add_u32("general.alignment", static_cast<uint32_t>(odd_number(random)));
      break;
    case 7:
      w.tensor_count = odd_number(random);
      break;
    default:
      w.pairs.erase(w.pairs.begin() + static_cast<long>(random() % w.pairs.size()));
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 8 != 0) return LLVMFuzzerMutate(data, size, size_max);
  GgufWriter writer = random_model(random);
  for (uint64_t changes = random() % 3; changes > 0; --changes) spoil(writer, random);
  const Bytes bytes = writer.build();
  if (bytes.size() > size_max) return LLVMFuzzerMutate(data, size, size_max);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that the sanitizer sees a read beyond the end.
  const auto bytes = std::as_bytes(std::span(data, size));
  const Bytes copy(bytes.begin(), bytes.end());
  const auto parsed = model::parse_model(copy);
  if (parsed.ok()) {
    read_all(**parsed);
  } else if (parsed.error().code == Code::internal || parsed.error().what.empty()) {
    std::abort();
  }
  return 0;
}
