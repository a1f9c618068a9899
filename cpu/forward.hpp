// The forward pass of a Llama decoder over one batch of tokens of mixed spans. There is one:
// prefill chunks, decode steps and draft verification differ in nothing but the spans of the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/packed_model.hpp"
#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::cpu {

/// Consecutive tokens of one sequence inside a batch.
struct BatchSpan {
  uint32_t first_token = 0;  ///< index in the batch
  uint32_t num_tokens = 0;
  uint32_t first_position = 0;
  const kv::PageId* block_table = nullptr;
  bool write_kv = true;
};

struct Batch {
  std::vector<int32_t> ids;  ///< [tokens]
  std::vector<BatchSpan> spans;
};

class Forward {
 public:
  /// All must outlive the pass.
  Forward(const PackedModel& model, const KernelTable& kernels, const kv::KvLayout& layout,
          ThreadPool& pool);

  void attach_pool(const kv::Region& region) { pool_memory_ = region.data; }

  /// Computes the residual stream of every token and writes their KV.
  void run(const Batch& batch);

  /// Logits of the given tokens of the last batch: [tokens.size(), vocab], valid until the next
  /// call of either function.
  float* logits(std::span<const uint32_t> tokens);

 private:
  struct AttentionItem {
    BatchSpan span;  ///< at most attention_tokens_max tokens
    uint32_t kv_head = 0;
  };

  void resize(uint32_t tokens);
  void plan_attention(const Batch& batch);
  void embed(const Batch& batch);
  void tabulate_angles(const Batch& batch);
  void normalize(const std::vector<float>& weight);
  void project_qkv(const PackedLayer& layer);
  void rotate_and_store(const Batch& batch, uint32_t layer);
  void attend(uint32_t layer);
  void project_attention_output(const PackedLayer& layer);
  void gate_and_up(const PackedLayer& layer);
  void project_down(const PackedLayer& layer);

  /// Runs task(part, parts) in more parts than threads: who is done early helps the others.
  void in_parts(const std::function<void(int part, int parts)>& task);
  /// Calls body(token) for each token; on this thread alone when there are few.
  void each_token(uint32_t tokens, const std::function<void(uint32_t)>& body);
  void quantize(const std::vector<float>& values, uint32_t tokens, uint32_t cols);
  void matmul(const PackedMatrix& matrix, const std::vector<float>& values, uint32_t tokens,
              float* out, bool add, int part, uint32_t panel_begin, uint32_t panel_end);

  const PackedModel& model_;
  const model::ModelConfig& config_;
  const KernelTable& kernels_;
  kv::KvLayout layout_;
  ThreadPool& pool_;
  std::byte* pool_memory_ = nullptr;

  uint32_t tokens_ = 0;
  std::vector<float> residual_;            ///< [tokens, hidden]
  std::vector<float> normed_;              ///< [tokens, hidden]
  std::vector<float> query_, attended_;    ///< [tokens, heads * head_dim]
  std::vector<float> key_, value_;         ///< [tokens, kv_heads * head_dim]
  std::vector<float> gate_, up_;           ///< [tokens, ffn]
  std::vector<float> cosine_, sine_;       ///< [tokens, rope.dim / 2]
  std::vector<QuantizedBlock> quantized_;  ///< of the matrix input at hand
  std::vector<AttentionItem> attention_items_;
  std::vector<std::vector<float>> attention_scratch_;  ///< per part of a parallel step
  std::vector<std::vector<CacheLine>> strips_;         ///< per part of a parallel step
  std::vector<float> logits_;
};

}  // namespace troupe::cpu
