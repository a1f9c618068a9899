// The forward pass of a decoder over one batch of tokens of mixed spans. There is one: prefill
// chunks, decode steps and draft verification differ in nothing but the spans of the batch, and
// families in nothing but their configuration, whose parts these steps interpret.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "cpu/batch.hpp"
#include "cpu/compute.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/packed_model.hpp"
#include "cpu/plan_attention.hpp"
#include "cpu/route_experts.hpp"
#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::cpu {

class Forward {
 public:
  /// `config` is the model's with rope resolved for the served context. All must outlive the pass.
  Forward(const PackedModel& model, const model::ModelConfig& config, const KernelTable& kernels,
          const kv::KvLayout& layout, ThreadPool& pool);

  void attach_pool(const kv::Region& region) { pool_memory_ = region.data; }

  /// Computes the residual stream of every token and writes their KV.
  void run(const Batch& batch);

  /// Logits of the given tokens of the last batch: [tokens.size(), vocab], valid until the next
  /// call of either function.
  float* logits(std::span<const uint32_t> tokens);

 private:
  /// Cosines and sines of one kind of rope: [tokens, dim / 2].
  struct Angles {
    std::vector<float> cosine, sine;
  };

  void resize(uint32_t tokens);
  void share_out_attention(const Batch& batch);
  void embed(const Batch& batch);
  void tabulate(const Batch& batch, const model::RopeConfig& rope, Angles& angles);
  void normalize(const Vector& weight);
  /// residual += norm(matrix * input + bias), norm and bias where there are any.
  void add_to_residual(const MatmulInput& input, const PackedMatrix& matrix, const Vector& bias,
                       const Vector& post_norm);
  void close_part(const Vector& bias, const Vector& post_norm);
  [[nodiscard]] MatmulInput normed() const {
    return {normed_.data(), tokens_, config_.hidden_size};
  }

  // forward_attention.cpp
  void attention_part(const Batch& batch, uint32_t layer);
  void rotate_and_store(const Batch& batch, uint32_t layer);
  void norm_heads(const Vector& weight, uint32_t heads, float* row) const;
  void attend(uint32_t layer);
  /// Runs the kernel over the piece, and after the last piece of an item merges them.
  template <class Args>
  void attend(const AttentionItem& piece, Args args, void (*one)(const Args&),
              void (*merge_all)(const Args&));
  AttentionArgs arguments(const AttentionItem& item, uint32_t layer, float* scratch);
  GeneralAttentionArgs general_arguments(const AttentionItem& item, uint32_t layer, float* scratch);
  [[nodiscard]] bool is_plain(uint32_t layer) const;
  [[nodiscard]] float attention_scale() const;

  // forward_latent.cpp
  void latent_part(const Batch& batch, uint32_t layer);
  void store_latents(const Batch& batch, uint32_t layer);
  void absorb_queries(const PackedLatent& latent);
  void expand_values(const PackedLatent& latent);
  /// `offset`: bytes from a block's start to the keys.
  void store_key(const BatchSpan& span, uint32_t position, size_t offset, const float* key,
                 uint32_t dim);

  // forward_indexer.cpp
  void select(const Batch& batch, uint32_t layer);
  void prepare_index(const Batch& batch, uint32_t layer);
  struct IndexScratch {
    std::vector<float> keys, scores;
    std::vector<uint64_t> ranks;
  };
  void select_for(const BatchSpan& span, uint32_t token, size_t offset, IndexScratch& scratch);
  /// Which of the layers with indexer keys this is.
  [[nodiscard]] uint32_t index_layer(uint32_t layer) const;

  // forward_ffn.cpp
  void feed_forward_part(uint32_t layer);
  void gate_and_up(const PackedFfn& ffn, const MatmulInput& input);
  void activate(const PackedFfn& ffn, float* gate, float* up, uint32_t begin, uint32_t end) const;

  // forward_experts.cpp
  void experts_part(const PackedLayer& layer);
  void route(const PackedLayer& layer);
  void run_experts(const PackedLayer& layer, uint32_t first_token, uint32_t tokens);
  void sort_by_expert(uint32_t first_token, uint32_t tokens);
  void sum_experts(const PackedLayer& layer, uint32_t token, const uint32_t* rows);

  const PackedModel& model_;
  const model::ModelConfig& config_;
  const KernelTable& kernels_;
  kv::KvLayout layout_;
  Compute compute_;
  std::byte* pool_memory_ = nullptr;

  uint32_t tokens_ = 0;
  std::vector<float> residual_, normed_;  ///< [tokens, hidden]
  std::vector<float> branch_;             ///< [tokens, hidden]: a part's output before its norm
  std::vector<float> query_;              ///< [tokens, heads * head_dim]
  std::vector<float> attended_;           ///< [tokens, heads * stored value dim]
  std::vector<float> key_, value_;        ///< [tokens, kv_heads * head_dim]
  std::vector<float> gate_, up_;          ///< [tokens, ffn]
  Angles angles_, local_angles_;
  AttentionPlan attention_plan_;
  std::vector<float> attention_partial_;  ///< states of splits that lie in several pieces
  std::vector<std::vector<float>> attention_scratch_;  ///< per part of a parallel step
  std::vector<float> logits_;

  // Latent attention.
  std::vector<float> query_low_;  ///< [tokens, query_rank]
  std::vector<float> query_raw_;  ///< [tokens, heads * (nope + rope)]
  std::vector<float> per_head_;   ///< [heads, tokens, nope or kv_rank]
  std::vector<float> expanded_;   ///< [tokens, heads * value_dim]

  // The indexer.
  std::vector<float> index_query_;    ///< [tokens, heads * dim]
  std::vector<float> index_key_;      ///< [tokens, dim]
  std::vector<float> index_weights_;  ///< [tokens, heads]
  std::vector<uint64_t> selected_;    ///< [tokens, selected_stride_], a bit for each position
  size_t selected_stride_ = 0;
  std::vector<IndexScratch> index_scratch_;  ///< per part of a parallel step

  // Experts.
  std::vector<float> router_logits_;    ///< [tokens, experts]
  std::vector<ChosenExpert> chosen_;    ///< [tokens, per_token]
  std::vector<uint32_t> expert_rows_;   ///< [tokens of a chunk, per_token]: rows of the next
  std::vector<uint32_t> expert_begin_;  ///< [experts + 1]: rows of each expert
  std::vector<float> gathered_, expert_gate_, expert_up_, expert_out_;  ///< [rows, …]
};

}  // namespace troupe::cpu
