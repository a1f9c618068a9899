// Attention with heads of Q, K and V, and what all kinds of attention share.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "cpu/forward.hpp"

namespace troupe::cpu {
void Forward::attention_part(const Batch& batch, uint32_t layer) {
  const PackedLayer& weights = model_.layers[layer];
  if (config_.latent.kv_rank != 0) {
    latent_part(batch, layer);
    add_to_residual({expanded_.data(), tokens_, weights.attention_output.cols()},
                    weights.attention_output, weights.attention_output_bias,
                    weights.attention_post_norm);
    return;
  }
  const MatmulJob projections[] = {
      {&weights.query, query_.data(), weights.query.rows(), tokens_, 0, false},
      {&weights.key, key_.data(), weights.key.rows(), tokens_, 0, false},
      {&weights.value, value_.data(), weights.value.rows(), tokens_, 0, false}};
  compute_.run(normed(), projections);
  rotate_and_store(batch, layer);
  attend(layer);
  add_to_residual({attended_.data(), tokens_, weights.attention_output.cols()},
                  weights.attention_output, weights.attention_output_bias,
                  weights.attention_post_norm);
}

void Forward::norm_heads(const Vector& weight, uint32_t heads, float* row) const {
  if (weight.empty()) return;
  const auto size = static_cast<uint32_t>(weight.size());
  for (uint32_t at = 0; at < heads * config_.head_dim; at += size) {
    kernels_.rmsnorm(row + at, weight.data(), config_.norm_epsilon, size, row + at);
  }
}

void Forward::rotate_and_store(const Batch& batch, uint32_t layer) {
  const PackedLayer& weights = model_.layers[layer];
  const model::LayerConfig kind = config_.layer(layer);
  const model::RopeConfig& rope = kind.local_rope ? config_.local_rope : config_.rope;
  const Angles& angles = kind.local_rope ? local_angles_ : angles_;
  const uint32_t dim = config_.head_dim, half = rope.dim / 2;
  const bool neighbours = rope.pairing == model::RopePairing::norm;
  const uint32_t heads = config_.num_heads, kv_heads = config_.num_kv_heads;
  const kv::LayerPlace place = layout_.place(layer);
  for (const BatchSpan& span : batch.spans) {
    compute_.each_token(span.num_tokens, [&](uint32_t i) {
      const size_t t = span.first_token + i;
      const uint32_t position = span.first_position + i;
      const float* cosine = &angles.cosine[t * half];
      const float* sine = &angles.sine[t * half];
      float* query = &query_[t * heads * dim];
      add_bias(weights.query_bias, query);
      norm_heads(weights.query_norm, heads, query);
      for (uint32_t h = 0; h < heads && kind.rotates; ++h) {
        kernels_.rope(query + size_t{h} * dim, cosine, sine, 2 * half, neighbours);
      }
      if (!span.write_kv) return;
      float* keys = &key_[t * kv_heads * dim];
      float* values = &value_[t * kv_heads * dim];
      add_bias(weights.key_bias, keys);
      add_bias(weights.value_bias, values);
      norm_heads(weights.key_norm, kv_heads, keys);
      const uint32_t tokens_per_block = layout_.tokens_per_block;
      WriteKvArgs args;
      std::byte* block = pool_memory_ + span.pages(place.group)[position / tokens_per_block] *
                                            layout_.block_bytes();
      args.types = layout_.types();
      args.slot = position % tokens_per_block;
      args.head_dim = dim;
      for (uint32_t h = 0; h < kv_heads; ++h) {
        float* key = keys + size_t{h} * dim;
        if (kind.rotates) kernels_.rope(key, cosine, sine, 2 * half, neighbours);
        args.keys = block + layout_.k_offset(place.slot, h);
        args.values = block + layout_.v_offset(place.slot, h);
        args.key = key;
        args.value = values + size_t{h} * dim;
        kernels_.write_kv(args);
      }
    });
  }
}

bool Forward::is_plain(uint32_t layer) const {
  const model::LayerConfig kind = config_.layer(layer);
  return kind.window == 0 && kind.selection == model::Selection::none &&
         config_.attention_cap == 0.0f && model_.layers[layer].sinks.empty() &&
         config_.latent.kv_rank == 0;
}

float Forward::attention_scale() const {
  if (config_.attention_scale != 0.0f) return config_.attention_scale;
  return 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
}

void Forward::attend(uint32_t layer) {
  const bool plain = is_plain(layer);
  const auto& pieces = attention_plan_.pieces;
  std::atomic<size_t> next{0};
  compute_.in_parts([&](int part, int /*parts*/) {
    float* scratch = attention_scratch_[static_cast<size_t>(part)].data();
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();) {
      if (plain) {
        attend(pieces[i], arguments(pieces[i], layer, scratch), kernels_.attention,
               kernels_.merge_attention);
      } else {
        attend(pieces[i], general_arguments(pieces[i], layer, scratch), kernels_.general_attention,
               kernels_.merge_general_attention);
      }
    }
  });
}

template <class Args>
void Forward::attend(const AttentionItem& piece, Args args, void (*one)(const Args&),
                     void (*merge_all)(const Args&)) {
  if (piece.merge < 0) {
    one(args);
    return;
  }
  AttentionMerge& merge = attention_plan_.merges[static_cast<size_t>(piece.merge)];
  args.first_split = piece.first_split;
  args.end_split = piece.end_split;
  args.partial = &attention_partial_[merge.partial];
  one(args);
  // Who finishes the last piece sees what the others wrote, and is alone with it.
  const std::atomic_ref<uint32_t> finished(merge.finished);
  if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 != merge.pieces) return;
  merge_all(args);
  finished.store(0, std::memory_order_relaxed);
}

AttentionArgs Forward::arguments(const AttentionItem& item, uint32_t layer, float* scratch) {
  const kv::LayerPlace place = layout_.place(layer);
  AttentionArgs args;
  args.pool = pool_memory_;
  args.block_bytes = layout_.block_bytes();
  args.block_table = item.span.pages(place.group);
  args.k_offset = layout_.k_offset(place.slot, item.kv_head);
  args.v_offset = layout_.v_offset(place.slot, item.kv_head);
  args.types = layout_.types();
  args.head_dim = config_.head_dim;
  args.group = item.num_queries;
  args.first_position = item.span.first_position;
  args.num_tokens = item.span.num_tokens;
  args.scale = attention_scale();
  args.stride = size_t{config_.num_heads} * config_.head_dim;
  const size_t head = size_t{item.kv_head} * config_.group_size() + item.first_query;
  const size_t at = item.span.first_token * args.stride + head * config_.head_dim;
  args.query = &query_[at];
  args.out = &attended_[at];
  args.scratch = scratch;
  return args;
}

GeneralAttentionArgs Forward::general_arguments(const AttentionItem& item, uint32_t layer,
                                                float* scratch) {
  const model::LayerConfig kind = config_.layer(layer);
  const Vector& sinks = model_.layers[layer].sinks;
  const kv::LayerPlace place = layout_.place(layer);
  GeneralAttentionArgs args;
  args.pool = pool_memory_;
  args.block_bytes = layout_.block_bytes();
  args.block_table = item.span.pages(place.group);
  args.k_offset = layout_.k_offset(place.slot, item.kv_head);
  args.v_offset = layout_.value_in_key ? 0 : layout_.v_offset(place.slot, item.kv_head);
  args.types = layout_.types();
  args.value_in_key = layout_.value_in_key;
  args.key_dim = config_.head_dim;
  args.value_dim = config_.stored_value_dim();
  args.group = item.num_queries;
  args.first_position = item.span.first_position;
  args.num_tokens = item.span.num_tokens;
  args.scale = attention_scale();
  args.cap = config_.attention_cap;
  args.window = kind.window;
  const size_t head = size_t{item.kv_head} * config_.group_size() + item.first_query;
  if (!sinks.empty()) args.sinks = &sinks[head];
  if (kind.selection != model::Selection::none) {
    args.selected = &selected_[item.span.first_token * selected_stride_];
    args.selected_stride = selected_stride_;
  }
  args.query_stride = size_t{config_.num_heads} * args.key_dim;
  args.out_stride = size_t{config_.num_heads} * args.value_dim;
  args.query = &query_[item.span.first_token * args.query_stride + head * args.key_dim];
  args.out = &attended_[item.span.first_token * args.out_stride + head * args.value_dim];
  args.scratch = scratch;
  return args;
}

}  // namespace troupe::cpu
