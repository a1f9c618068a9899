// Latent attention in its absorbed form: scores and sums are taken over the stored latents, and
// queries and values pass through the heads' up-projections before and after.
#include <algorithm>

#include "cpu/forward.hpp"

namespace troupe::cpu {

void Forward::latent_part(const Batch& batch, uint32_t layer) {
  const PackedLayer& weights = model_.layers[layer];
  const PackedLatent& latent = weights.latent;
  const uint32_t rank = config_.latent.query_rank;
  const MatmulJob down = {&latent.down, key_.data(), latent.down.rows(), tokens_, 0, false};
  const MatmulJob query = {&weights.query, query_raw_.data(), weights.query.rows(), tokens_, 0,
                           false};
  if (rank == 0) {
    const MatmulJob both[] = {query, down};
    compute_.run(normed(), both);
  } else {
    const MatmulJob both[] = {{&latent.query_down, query_low_.data(), rank, tokens_, 0, false},
                              down};
    compute_.run(normed(), both);
    compute_.each_token(tokens_, [&](uint32_t t) {
      float* row = &query_low_[size_t{t} * rank];
      add_bias(latent.query_down_bias, row);
      kernels_.rmsnorm(row, latent.query_down_norm.data(), config_.latent.norm_epsilon, rank, row);
    });
    compute_.run({query_low_.data(), tokens_, rank}, query);
  }
  store_latents(batch, layer);
  absorb_queries(latent);
  if (config_.layer(layer).selection == model::Selection::own) select(batch, layer);
  attend(layer);
  expand_values(latent);
}

void Forward::store_latents(const Batch& batch, uint32_t layer) {
  const PackedLatent& latent = model_.layers[layer].latent;
  const uint32_t rank = config_.latent.kv_rank, nope = config_.latent.nope_dim;
  const uint32_t rotated = config_.rope.dim, half = rotated / 2;
  const bool neighbours = config_.rope.pairing == model::RopePairing::norm;
  for (const BatchSpan& span : batch.spans) {
    compute_.each_token(span.num_tokens, [&](uint32_t i) {
      const size_t t = span.first_token + i;
      const float* cosine = &angles_.cosine[t * half];
      const float* sine = &angles_.sine[t * half];
      float* query = &query_raw_[t * config_.num_heads * (nope + rotated)];
      for (uint32_t h = 0; h < config_.num_heads; ++h) {
        kernels_.rope(query + size_t{h} * (nope + rotated) + nope, cosine, sine, rotated,
                      neighbours);
      }
      if (!span.write_kv) return;
      float* key = &key_[t * (rank + rotated)];
      add_bias(latent.down_bias, key);
      kernels_.rmsnorm(key, latent.norm.data(), config_.latent.norm_epsilon, rank, key);
      kernels_.rope(key + rank, cosine, sine, rotated, neighbours);
      store_key(span, span.first_position + i, layout_.k_offset(layer, 0), key, rank + rotated);
    });
  }
}

void Forward::store_key(const BatchSpan& span, uint32_t position, size_t offset, const float* key,
                        uint32_t dim) {
  const uint32_t tokens = layout_.tokens_per_block;
  WriteKvArgs args;
  args.types = layout_.types();
  args.keys = pool_memory_ + span.block_table[position / tokens] * layout_.block_bytes() + offset;
  args.slot = position % tokens;
  args.head_dim = dim;
  args.key = key;
  kernels_.write_kv(args);
}

void Forward::absorb_queries(const PackedLatent& latent) {
  const uint32_t nope = config_.latent.nope_dim, rank = config_.latent.kv_rank;
  const uint32_t heads = config_.num_heads, rotated = config_.rope.dim;
  const size_t stride = size_t{heads} * config_.head_dim;
  compute_.each_token(tokens_, [&](uint32_t t) {
    for (uint32_t h = 0; h < heads; ++h) {
      const float* raw = &query_raw_[(size_t{t} * heads + h) * (nope + rotated)];
      std::copy_n(raw, nope, &per_head_[(size_t{h} * tokens_ + t) * nope]);
      std::copy_n(raw + nope, rotated, &query_[t * stride + size_t{h} * config_.head_dim + rank]);
    }
  });
  std::vector<MatmulJob> jobs;
  for (uint32_t h = 0; h < heads; ++h) {
    jobs.push_back({&latent.key_up[h], &query_[size_t{h} * config_.head_dim], stride, tokens_,
                    h * tokens_, false});
  }
  compute_.run({per_head_.data(), heads * tokens_, nope}, jobs);
}

void Forward::expand_values(const PackedLatent& latent) {
  const uint32_t rank = config_.latent.kv_rank, dim = config_.latent.value_dim;
  const uint32_t heads = config_.num_heads;
  compute_.each_token(tokens_, [&](uint32_t t) {
    for (uint32_t h = 0; h < heads; ++h) {
      std::copy_n(&attended_[(size_t{t} * heads + h) * rank], rank,
                  &per_head_[(size_t{h} * tokens_ + t) * rank]);
    }
  });
  std::vector<MatmulJob> jobs;
  for (uint32_t h = 0; h < heads; ++h) {
    jobs.push_back({&latent.value_up[h], &expanded_[size_t{h} * dim], size_t{heads} * dim, tokens_,
                    h * tokens_, false});
  }
  compute_.run({per_head_.data(), heads * tokens_, rank}, jobs);
}

}  // namespace troupe::cpu
