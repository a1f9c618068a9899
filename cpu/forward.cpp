#include "cpu/forward.hpp"

#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu {
namespace {

uint32_t widest_input(const model::ModelConfig& c) {
  return std::max({c.hidden_size, c.ffn_size, c.num_heads * c.head_dim, c.experts.ffn_size,
                   c.experts.shared_ffn_size, c.latent.query_rank,
                   c.num_heads * c.latent.value_dim});
}

}  // namespace

Forward::Forward(const PackedModel& model, const model::ModelConfig& config,
                 const KernelTable& kernels, const kv::KvLayout& layout, ThreadPool& pool)
    : model_(model),
      config_(config),
      kernels_(kernels),
      layout_(layout),
      compute_(kernels, pool, widest_input(config)),
      attention_scratch_(compute_.num_parts()),
      index_scratch_(compute_.num_parts()) {
  const uint32_t queries = std::min(config_.group_size(), queries_at_once_max);
  const size_t floats = std::max(
      attention_scratch_floats(config_.head_dim, queries),
      general_attention_scratch_floats(config_.head_dim, config_.stored_value_dim(), queries));
  for (std::vector<float>& scratch : attention_scratch_) scratch.resize(floats);
}

void Forward::run(const Batch& batch) {
  resize(static_cast<uint32_t>(batch.ids.size()));
  share_out_attention(batch);
  embed(batch);
  tabulate(batch, config_.rope, angles_);
  tabulate(batch, config_.local_rope, local_angles_);
  for (uint32_t i = 0; i < config_.num_layers; ++i) {
    normalize(model_.layers[i].attention_norm);
    attention_part(batch, i);
    normalize(model_.layers[i].ffn_norm);
    feed_forward_part(i);
  }
}

float* Forward::logits(std::span<const uint32_t> tokens) {
  const uint32_t hidden = config_.hidden_size, vocab = config_.vocab_size;
  const auto count = static_cast<uint32_t>(tokens.size());
  logits_.resize(size_t{count} * vocab);
  normed_.resize(std::max(normed_.size(), size_t{count} * hidden));
  for (uint32_t i = 0; i < count; ++i) {
    kernels_.rmsnorm(&residual_[size_t{tokens[i]} * hidden], model_.output_norm.data(),
                     config_.norm_epsilon, hidden, &normed_[size_t{i} * hidden]);
  }
  compute_.run({normed_.data(), count, hidden},
               {&model_.output, logits_.data(), vocab, count, 0, false});
  if (config_.logit_cap > 0.0f) {
    compute_.each_token(count, [&](uint32_t i) {
      kernels_.soft_cap(&logits_[size_t{i} * vocab], vocab, config_.logit_cap);
    });
  }
  return logits_.data();
}

void Forward::resize(uint32_t tokens) {
  tokens_ = tokens;
  const size_t heads = config_.num_heads;
  const size_t kv_cols = size_t{config_.num_kv_heads} * config_.head_dim;
  const auto grow = [tokens](auto& buffer, size_t per_token) {
    if (buffer.size() < tokens * per_token) buffer.resize(tokens * per_token);
  };
  for (auto* buffer : {&residual_, &normed_, &branch_}) grow(*buffer, config_.hidden_size);
  grow(query_, heads * config_.head_dim);
  grow(attended_, heads * config_.stored_value_dim());
  for (auto* buffer : {&key_, &value_}) grow(*buffer, kv_cols);
  for (auto* buffer : {&gate_, &up_}) {
    grow(*buffer, std::max(config_.ffn_size, config_.experts.shared_ffn_size));
  }
  const model::LatentConfig& latent = config_.latent;
  if (latent.kv_rank != 0) {
    grow(query_low_, latent.query_rank);
    grow(query_raw_, heads * (latent.nope_dim + config_.rope.dim));
    grow(per_head_, heads * std::max(latent.nope_dim, latent.kv_rank));
    grow(expanded_, heads * latent.value_dim);
  }
  grow(index_query_, size_t{config_.indexer.heads} * config_.indexer.dim);
  grow(index_key_, config_.indexer.dim);
  grow(index_weights_, config_.indexer.heads);
  grow(router_logits_, config_.experts.count);
  grow(chosen_, config_.experts.per_token);
}

void Forward::share_out_attention(const Batch& batch) {
  plan_attention(
      batch.spans,
      {.kv_heads = config_.num_kv_heads,
       .group = config_.group_size(),
       .state_floats = std::max(attention_partial_floats(config_.head_dim, 1, 1),
                                general_attention_partial_floats(config_.stored_value_dim(), 1, 1)),
       .threads = static_cast<uint32_t>(compute_.num_parts())},
      attention_plan_);
  if (attention_partial_.size() < attention_plan_.partial_floats) {
    attention_partial_.resize(attention_plan_.partial_floats);
  }
  if (config_.indexer.heads == 0) return;
  uint32_t positions = 0;
  for (const BatchSpan& span : batch.spans) {
    positions = std::max(positions, span.first_position + span.num_tokens);
  }
  selected_stride_ = (positions + tile_positions - 1) / tile_positions;
  selected_.resize(std::max(selected_.size(), tokens_ * selected_stride_));
}

void Forward::embed(const Batch& batch) {
  const uint32_t hidden = config_.hidden_size;
  compute_.each_token(tokens_, [&](uint32_t t) {
    float* row = &residual_[size_t{t} * hidden];
    model::dequantize_row(model_.source->weights.token_embedding,
                          static_cast<uint32_t>(batch.ids[t]), row);
    if (config_.embedding_scale == 1.0f) return;
    for (uint32_t i = 0; i < hidden; ++i) row[i] *= config_.embedding_scale;
  });
}

void Forward::tabulate(const Batch& batch, const model::RopeConfig& rope, Angles& angles) {
  const uint32_t half = rope.dim / 2;
  if (half == 0) return;
  for (std::vector<float>* table : {&angles.cosine, &angles.sine}) {
    table->resize(std::max(table->size(), size_t{tokens_} * half));
  }
  for (const BatchSpan& span : batch.spans) {
    compute_.each_token(span.num_tokens, [&](uint32_t t) {
      const double position = span.first_position + t;
      const size_t at = size_t{span.first_token + t} * half;
      for (uint32_t i = 0; i < half; ++i) {
        double sine, cosine;
        sin_cos_fixed(position * rope.inverse_frequency[i], sine, cosine);
        angles.cosine[at + i] = static_cast<float>(cosine * rope.attention_factor);
        angles.sine[at + i] = static_cast<float>(sine * rope.attention_factor);
      }
    });
  }
}

void Forward::normalize(const Vector& weight) {
  const uint32_t hidden = config_.hidden_size;
  compute_.each_token(tokens_, [&](uint32_t t) {
    const float* from = &residual_[size_t{t} * hidden];
    float* to = &normed_[size_t{t} * hidden];
    if (weight.empty()) {
      std::copy_n(from, hidden, to);
    } else {
      kernels_.rmsnorm(from, weight.data(), config_.norm_epsilon, hidden, to);
    }
  });
}

void Forward::add_to_residual(const MatmulInput& input, const PackedMatrix& matrix,
                              const Vector& bias, const Vector& post_norm) {
  const bool at_once = bias.empty() && post_norm.empty();
  float* out = at_once ? residual_.data() : branch_.data();
  compute_.run(input, {&matrix, out, config_.hidden_size, input.rows, 0, at_once});
  if (!at_once) close_part(bias, post_norm);
}

void Forward::close_part(const Vector& bias, const Vector& post_norm) {
  const uint32_t hidden = config_.hidden_size;
  compute_.each_token(tokens_, [&](uint32_t t) {
    float* row = &branch_[size_t{t} * hidden];
    add_bias(bias, row);
    if (!post_norm.empty()) {
      kernels_.rmsnorm(row, post_norm.data(), config_.norm_epsilon, hidden, row);
    }
    float* residual = &residual_[size_t{t} * hidden];
    for (uint32_t i = 0; i < hidden; ++i) residual[i] += row[i];
  });
}

}  // namespace troupe::cpu
