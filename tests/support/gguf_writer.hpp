// Makes small valid Llama models as GGUF, in memory or in a file.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "model/tensor.hpp"
#include "tests/support/gguf_format.hpp"
#include "tests/support/quantize.hpp"
#include "tests/support/tiny_tokenizer.hpp"

namespace troupe::testing {

/// Quantised types need hidden, heads * head_dim and ffn to be multiples of 32.
struct TinyLlamaOptions {
  uint32_t layers = 2;
  uint32_t hidden = 64;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t head_dim = 16;
  uint32_t ffn = 96;
  uint32_t vocab = 320;  ///< with a tokenizer at least 259
  uint32_t context = 2048;
  model::TensorType type = model::TensorType::f32;  ///< of the matrices; norms are F32
  uint64_t seed = 1;
  bool tokenizer = true;
  bool tied = false;        ///< without output.weight
  bool rope_freqs = false;  ///< with rope_freqs.weight
};

/// A repeatable source of weights, uniform in (-1, 1).
class WeightSource {
 public:
  explicit WeightSource(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  float next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
  }
  std::vector<float> vector(size_t count, float centre, float width) {
    std::vector<float> values(count);
    for (float& v : values) v = centre + width * next();
    return values;
  }

 private:
  uint64_t state_;
};

inline void add_tiny_metadata(GgufWriter& w, const TinyLlamaOptions& o) {
  w.add_string("general.architecture", "llama");
  w.add_string("general.name", "tiny");
  w.add_u32("llama.block_count", o.layers);
  w.add_u32("llama.context_length", o.context);
  w.add_u32("llama.embedding_length", o.hidden);
  w.add_u32("llama.feed_forward_length", o.ffn);
  w.add_u32("llama.attention.head_count", o.heads);
  w.add_u32("llama.attention.head_count_kv", o.kv_heads);
  w.add_u32("llama.attention.key_length", o.head_dim);
  w.add_u32("llama.attention.value_length", o.head_dim);
  w.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  w.add_f32("llama.rope.freq_base", 10000.0f);
  w.add_u32("llama.rope.dimension_count", o.head_dim);
  w.add_u32("llama.vocab_size", o.vocab);
  if (!o.tokenizer) return;
  if (o.vocab < 259) std::abort();
  const TinyTokenizer t = make_tiny_tokenizer(o.vocab);
  w.add_string("tokenizer.ggml.model", "gpt2");
  w.add_string("tokenizer.ggml.pre", "smollm");
  w.add_strings("tokenizer.ggml.tokens", t.tokens);
  w.add_i32s("tokenizer.ggml.token_type", t.types);
  w.add_strings("tokenizer.ggml.merges", t.merges);
  w.add_u32("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(tiny_endoftext));
  w.add_u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(tiny_im_end));
  w.add_bool("tokenizer.ggml.add_bos_token", false);
  w.add_string("tokenizer.chat_template", tiny_chat_template);
}

inline void add_tiny_tensors(GgufWriter& w, const TinyLlamaOptions& o) {
  WeightSource source(o.seed);
  const auto norm = [&](const std::string& name) {
    w.add_tensor(name, {o.hidden}, 0,
                 quantize(source.vector(o.hidden, 1.0f, 0.2f), model::TensorType::f32));
  };
  const auto matrix = [&](const std::string& name, uint32_t rows, uint32_t cols, float gain) {
    const float width = gain * std::sqrt(3.0f / static_cast<float>(cols));
    w.add_tensor(name, {cols, rows}, static_cast<uint32_t>(o.type),
                 quantize(source.vector(size_t{rows} * cols, 0.0f, width), o.type));
  };
  const uint32_t attention = o.heads * o.head_dim;
  matrix("token_embd.weight", o.vocab, o.hidden, 2.0f);
  norm("output_norm.weight");
  if (!o.tied) matrix("output.weight", o.vocab, o.hidden, 3.0f);
  if (o.rope_freqs) {
    w.add_tensor("rope_freqs.weight", {o.head_dim / 2}, 0,
                 quantize(source.vector(o.head_dim / 2, 2.0f, 1.0f), model::TensorType::f32));
  }
  for (uint32_t layer = 0; layer < o.layers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    norm(prefix + "attn_norm.weight");
    matrix(prefix + "attn_q.weight", attention, o.hidden, 1.5f);
    matrix(prefix + "attn_k.weight", o.kv_heads * o.head_dim, o.hidden, 1.5f);
    matrix(prefix + "attn_v.weight", o.kv_heads * o.head_dim, o.hidden, 1.0f);
    matrix(prefix + "attn_output.weight", o.hidden, attention, 1.0f);
    norm(prefix + "ffn_norm.weight");
    matrix(prefix + "ffn_gate.weight", o.ffn, o.hidden, 1.0f);
    matrix(prefix + "ffn_up.weight", o.ffn, o.hidden, 1.0f);
    matrix(prefix + "ffn_down.weight", o.hidden, o.ffn, 1.0f);
  }
}

/// The parts of a tiny model, for tests that change one of them before build().
inline GgufWriter tiny_llama(const TinyLlamaOptions& options = {}) {
  GgufWriter writer;
  add_tiny_metadata(writer, options);
  add_tiny_tensors(writer, options);
  return writer;
}

inline void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) std::abort();
}

/// Writes a valid model with random weights to `path`. Equal options give equal bytes.
inline void make_tiny_llama(const std::string& path, const TinyLlamaOptions& options = {}) {
  write_file(path, tiny_llama(options).build());
}

}  // namespace troupe::testing
