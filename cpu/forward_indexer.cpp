// The indexer of sparse attention: stores a key for every token and selects, for every query, the
// positions that its layer (and those that share the selection) attend to.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "cpu/forward.hpp"
#include "cpu/index_scores.hpp"
#include "cpu/select_positions.hpp"

namespace troupe::cpu {
namespace {

constexpr float layer_norm_epsilon = 1e-6f;

/// Sum in 16 lanes (docs/numerics.md section 3) of f(i).
template <class Function>
float sum_in_lanes(uint32_t count, Function f) {
  float lane[16] = {};
  for (uint32_t i = 0; i < count; ++i) lane[i % 16] += f(i);
  for (int step = 8; step >= 1; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

void layer_norm(const Vector& weight, const Vector& bias, float* x) {
  const auto count = static_cast<uint32_t>(weight.size());
  const float mean =
      sum_in_lanes(count, [x](uint32_t i) { return x[i]; }) / static_cast<float>(count);
  const float variance =
      sum_in_lanes(count, [x, mean](uint32_t i) { return (x[i] - mean) * (x[i] - mean); }) /
      static_cast<float>(count);
  const float factor = 1.0f / std::sqrt(variance + layer_norm_epsilon);
  for (uint32_t i = 0; i < count; ++i) x[i] = (x[i] - mean) * factor * weight[i];
  add_bias(bias, x);
}

}  // namespace

uint32_t Forward::index_layer(uint32_t layer) const {
  uint32_t nth = 0;
  for (uint32_t i = 0; i < layer; ++i) {
    nth += config_.layer(i).selection == model::Selection::own ? 1 : 0;
  }
  return nth;
}

void Forward::select(const Batch& batch, uint32_t layer) {
  prepare_index(batch, layer);
  const size_t offset = layout_.index_offset(index_layer(layer));
  std::atomic<uint32_t> next{0};
  compute_.in_parts([&](int part, int /*parts*/) {
    IndexScratch& scratch = index_scratch_[static_cast<size_t>(part)];
    for (uint32_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < tokens_;) {
      const auto span = std::find_if(batch.spans.begin(), batch.spans.end(), [t](const auto& s) {
        return t >= s.first_token && t < s.first_token + s.num_tokens;
      });
      select_for(*span, t, offset, scratch);
    }
  });
}

void Forward::prepare_index(const Batch& batch, uint32_t layer) {
  const PackedIndexer& indexer = model_.layers[layer].indexer;
  const model::IndexerConfig& c = config_.indexer;
  const MatmulJob own[] = {{&indexer.key, index_key_.data(), c.dim, tokens_, 0, false},
                           {&indexer.weights, index_weights_.data(), c.heads, tokens_, 0, false}};
  compute_.run(normed(), own);
  compute_.run({query_low_.data(), tokens_, config_.latent.query_rank},
               {&indexer.query, index_query_.data(), size_t{c.heads} * c.dim, tokens_, 0, false});
  const uint32_t rotated = config_.rope.dim, half = rotated / 2;
  const bool neighbours = c.pairing == model::RopePairing::norm;
  const float weight_scale = 1.0f / std::sqrt(static_cast<float>(c.heads));
  const size_t offset = layout_.index_offset(index_layer(layer));
  for (const BatchSpan& span : batch.spans) {
    compute_.each_token(span.num_tokens, [&](uint32_t i) {
      const size_t t = span.first_token + i;
      const float* cosine = &angles_.cosine[t * half];
      const float* sine = &angles_.sine[t * half];
      for (uint32_t h = 0; h < c.heads; ++h) {
        kernels_.rope(&index_query_[(t * c.heads + h) * c.dim], cosine, sine, rotated, neighbours);
        index_weights_[t * c.heads + h] *= weight_scale;
      }
      if (!span.write_kv) return;
      float* key = &index_key_[t * c.dim];
      layer_norm(indexer.key_norm, indexer.key_norm_bias, key);
      kernels_.rope(key, cosine, sine, rotated, neighbours);
      store_key(span, span.first_position + i, offset, key, c.dim);
    });
  }
}

void Forward::select_for(const BatchSpan& span, uint32_t token, size_t offset,
                         IndexScratch& scratch) {
  const model::IndexerConfig& c = config_.indexer;
  const uint32_t positions = span.first_position + (token - span.first_token) + 1;
  uint64_t* bits = &selected_[token * selected_stride_];
  if (positions > c.top_k) {
    scratch.scores.resize(std::max(scratch.scores.size(), selected_stride_ * tile_positions));
    scratch.keys.resize(size_t{c.dim} * tile_positions);
    IndexScoresArgs args;
    args.pool = pool_memory_;
    args.block_bytes = layout_.block_bytes();
    args.block_table = span.block_table;
    args.offset = offset;
    args.type = layout_.type;
    args.heads = c.heads;
    args.dim = c.dim;
    args.positions = positions;
    args.scale = 1.0f / std::sqrt(static_cast<float>(c.dim));
    args.query = &index_query_[size_t{token} * c.heads * c.dim];
    args.weights = &index_weights_[size_t{token} * c.heads];
    args.scores = scratch.scores.data();
    args.scratch = scratch.keys.data();
    kernels_.index_scores(args);
  }
  select_positions(scratch.scores.data(), positions, c.top_k, bits, scratch.ranks);
}

}  // namespace troupe::cpu
