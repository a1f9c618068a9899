#include "cpu/forward.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/math.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu {
namespace {

/// Below this many tokens a wake-up of the other threads costs more than the work.
constexpr uint32_t tokens_worth_sharing = 8;

constexpr int parts_per_thread = 4;

}  // namespace

Forward::Forward(const PackedModel& model, const KernelTable& kernels, const kv::KvLayout& layout,
                 ThreadPool& pool)
    : model_(model),
      config_(model.source->config),
      kernels_(kernels),
      layout_(layout),
      pool_(pool),
      attention_scratch_(static_cast<size_t>(pool.size() * parts_per_thread)),
      strips_(static_cast<size_t>(pool.size() * parts_per_thread)) {
  for (std::vector<float>& scratch : attention_scratch_) {
    scratch.resize(attention_scratch_floats(config_.head_dim, config_.group_size()));
  }
  const uint32_t cols =
      std::max({config_.hidden_size, config_.ffn_size, config_.num_heads * config_.head_dim});
  for (std::vector<CacheLine>& strip : strips_) strip.resize(matmul_strip_lines(cols));
}

void Forward::run(const Batch& batch) {
  resize(static_cast<uint32_t>(batch.ids.size()));
  plan_attention(batch);
  embed(batch);
  tabulate_angles(batch);
  for (uint32_t i = 0; i < config_.num_layers; ++i) {
    const PackedLayer& layer = model_.layers[i];
    normalize(layer.attention_norm);
    project_qkv(layer);
    rotate_and_store(batch, i);
    attend(i);
    project_attention_output(layer);
    normalize(layer.ffn_norm);
    gate_and_up(layer);
    project_down(layer);
  }
}

float* Forward::logits(std::span<const uint32_t> tokens) {
  const uint32_t hidden = config_.hidden_size;
  const auto count = static_cast<uint32_t>(tokens.size());
  logits_.resize(size_t{count} * config_.vocab_size);
  normed_.resize(std::max(normed_.size(), size_t{count} * hidden));
  for (uint32_t i = 0; i < count; ++i) {
    kernels_.rmsnorm(&residual_[size_t{tokens[i]} * hidden], model_.output_norm.data(),
                     config_.norm_epsilon, hidden, &normed_[size_t{i} * hidden]);
  }
  if (model_.output.quantized()) quantize(normed_, count, hidden);
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(model_.output.num_panels(), part, parts);
    matmul(model_.output, normed_, count, logits_.data(), false, part, static_cast<uint32_t>(begin),
           static_cast<uint32_t>(end));
  });
  return logits_.data();
}

void Forward::resize(uint32_t tokens) {
  tokens_ = tokens;
  const size_t query_cols = size_t{config_.num_heads} * config_.head_dim;
  const size_t kv_cols = size_t{config_.num_kv_heads} * config_.head_dim;
  const auto grow = [tokens](auto& buffer, size_t per_token) {
    if (buffer.size() < tokens * per_token) buffer.resize(tokens * per_token);
  };
  for (auto* buffer : {&residual_, &normed_}) grow(*buffer, config_.hidden_size);
  for (auto* buffer : {&query_, &attended_}) grow(*buffer, query_cols);
  for (auto* buffer : {&key_, &value_}) grow(*buffer, kv_cols);
  for (auto* buffer : {&gate_, &up_}) grow(*buffer, config_.ffn_size);
  for (auto* buffer : {&cosine_, &sine_}) grow(*buffer, config_.rope.dim / 2);
}

void Forward::plan_attention(const Batch& batch) {
  attention_items_.clear();
  for (const BatchSpan& span : batch.spans) {
    for (uint32_t t = 0; t < span.num_tokens; t += attention_tokens_max) {
      AttentionItem item;
      item.span = span;
      item.span.first_token += t;
      item.span.first_position += t;
      item.span.num_tokens = std::min(attention_tokens_max, span.num_tokens - t);
      for (item.kv_head = 0; item.kv_head < config_.num_kv_heads; ++item.kv_head) {
        attention_items_.push_back(item);
      }
    }
  }
  // The longest first, so that no thread starts a long one when the others are done.
  std::stable_sort(attention_items_.begin(), attention_items_.end(),
                   [](const AttentionItem& a, const AttentionItem& b) {
                     return a.span.first_position > b.span.first_position;
                   });
}

void Forward::embed(const Batch& batch) {
  each_token(tokens_, [&](uint32_t t) {
    model::dequantize_row(model_.source->weights.token_embedding,
                          static_cast<uint32_t>(batch.ids[t]),
                          &residual_[size_t{t} * config_.hidden_size]);
  });
}

void Forward::tabulate_angles(const Batch& batch) {
  const uint32_t half = config_.rope.dim / 2;
  for (const BatchSpan& span : batch.spans) {
    each_token(span.num_tokens, [&](uint32_t t) {
      const double position = span.first_position + t;
      const size_t at = size_t{span.first_token + t} * half;
      for (uint32_t i = 0; i < half; ++i) {
        double sine, cosine;
        sin_cos_fixed(position * config_.rope.inverse_frequency[i], sine, cosine);
        cosine_[at + i] = static_cast<float>(cosine);
        sine_[at + i] = static_cast<float>(sine);
      }
    });
  }
}

void Forward::normalize(const std::vector<float>& weight) {
  const uint32_t hidden = config_.hidden_size;
  each_token(tokens_, [&](uint32_t t) {
    kernels_.rmsnorm(&residual_[size_t{t} * hidden], weight.data(), config_.norm_epsilon, hidden,
                     &normed_[size_t{t} * hidden]);
  });
}

void Forward::project_qkv(const PackedLayer& layer) {
  struct Projection {
    const PackedMatrix& matrix;
    float* out;
  };
  const Projection all[] = {
      {layer.query, query_.data()}, {layer.key, key_.data()}, {layer.value, value_.data()}};
  int64_t panels = 0;
  bool quantized = false;
  for (const Projection& p : all) {
    panels += p.matrix.num_panels();
    quantized = quantized || p.matrix.quantized();
  }
  if (quantized) quantize(normed_, tokens_, config_.hidden_size);
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(panels, part, parts);
    int64_t first = 0;
    for (const Projection& p : all) {
      const int64_t last = first + p.matrix.num_panels();
      const int64_t from = std::max(begin, first), to = std::min(end, last);
      if (from < to) {
        matmul(p.matrix, normed_, tokens_, p.out, false, part, static_cast<uint32_t>(from - first),
               static_cast<uint32_t>(to - first));
      }
      first = last;
    }
  });
}

void Forward::rotate_and_store(const Batch& batch, uint32_t layer) {
  const uint32_t dim = config_.head_dim, half = config_.rope.dim / 2;
  const bool neighbours = config_.rope.pairing == model::RopePairing::norm;
  for (const BatchSpan& span : batch.spans) {
    each_token(span.num_tokens, [&](uint32_t i) {
      const size_t t = span.first_token + i;
      const uint32_t position = span.first_position + i;
      const float* cosine = &cosine_[t * half];
      const float* sine = &sine_[t * half];
      for (uint32_t h = 0; h < config_.num_heads; ++h) {
        kernels_.rope(&query_[(t * config_.num_heads + h) * dim], cosine, sine, 2 * half,
                      neighbours);
      }
      if (!span.write_kv) return;
      const uint32_t tokens_per_block = layout_.tokens_per_block;
      WriteKvArgs args;
      args.block =
          pool_memory_ + span.block_table[position / tokens_per_block] * layout_.block_bytes();
      args.half = layout_.type == kv::KvType::f16;
      args.slot = position % tokens_per_block;
      args.head_dim = dim;
      for (uint32_t h = 0; h < config_.num_kv_heads; ++h) {
        float* key = &key_[(t * config_.num_kv_heads + h) * dim];
        kernels_.rope(key, cosine, sine, 2 * half, neighbours);
        args.k_index = layout_.k_index(layer, h);
        args.v_index = layout_.v_index(layer, h);
        args.key = key;
        args.value = &value_[(t * config_.num_kv_heads + h) * dim];
        kernels_.write_kv(args);
      }
    });
  }
}

void Forward::attend(uint32_t layer) {
  const size_t stride = size_t{config_.num_heads} * config_.head_dim;
  const size_t group_cols = size_t{config_.group_size()} * config_.head_dim;
  std::atomic<size_t> next{0};
  const auto work = [&](int part, int /*parts*/) {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < attention_items_.size();) {
      const AttentionItem& item = attention_items_[i];
      AttentionArgs args;
      args.pool = pool_memory_;
      args.block_bytes = layout_.block_bytes();
      args.block_table = item.span.block_table;
      args.k_index = layout_.k_index(layer, item.kv_head);
      args.v_index = layout_.v_index(layer, item.kv_head);
      args.half = layout_.type == kv::KvType::f16;
      args.head_dim = config_.head_dim;
      args.group = config_.group_size();
      args.first_position = item.span.first_position;
      args.num_tokens = item.span.num_tokens;
      args.scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
      const size_t at = item.span.first_token * stride + item.kv_head * group_cols;
      args.query = &query_[at];
      args.out = &attended_[at];
      args.stride = stride;
      args.scratch = attention_scratch_[static_cast<size_t>(part)].data();
      kernels_.attention(args);
    }
  };
  in_parts(work);
}

void Forward::project_attention_output(const PackedLayer& layer) {
  const PackedMatrix& matrix = layer.attention_output;
  if (matrix.quantized()) quantize(attended_, tokens_, matrix.cols());
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(matrix.num_panels(), part, parts);
    matmul(matrix, attended_, tokens_, residual_.data(), true, part, static_cast<uint32_t>(begin),
           static_cast<uint32_t>(end));
  });
}

void Forward::gate_and_up(const PackedLayer& layer) {
  const uint32_t ffn = config_.ffn_size;
  if (layer.gate.quantized() || layer.up.quantized()) {
    quantize(normed_, tokens_, config_.hidden_size);
  }
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(layer.gate.num_panels(), part, parts);
    const auto first = static_cast<uint32_t>(begin), last = static_cast<uint32_t>(end);
    matmul(layer.gate, normed_, tokens_, gate_.data(), false, part, first, last);
    matmul(layer.up, normed_, tokens_, up_.data(), false, part, first, last);
    const uint32_t row = first * panel_rows, rows = std::min(last * panel_rows, ffn) - row;
    if (first == last) return;
    for (size_t t = 0; t < tokens_; ++t) {
      kernels_.swiglu(&gate_[t * ffn + row], &up_[t * ffn + row], rows);
    }
  });
}

void Forward::project_down(const PackedLayer& layer) {
  const PackedMatrix& matrix = layer.down;
  if (matrix.quantized()) quantize(gate_, tokens_, matrix.cols());
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(matrix.num_panels(), part, parts);
    matmul(matrix, gate_, tokens_, residual_.data(), true, part, static_cast<uint32_t>(begin),
           static_cast<uint32_t>(end));
  });
}

void Forward::in_parts(const std::function<void(int part, int parts)>& task) {
  pool_.run(task, parts_per_thread);
}

void Forward::each_token(uint32_t tokens, const std::function<void(uint32_t)>& body) {
  if (tokens < tokens_worth_sharing) {
    for (uint32_t t = 0; t < tokens; ++t) body(t);
    return;
  }
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(tokens, part, parts);
    for (int64_t t = begin; t < end; ++t) body(static_cast<uint32_t>(t));
  });
}

void Forward::quantize(const std::vector<float>& values, uint32_t tokens, uint32_t cols) {
  const size_t blocks = cols / quant_block;
  if (quantized_.size() < tokens * blocks) quantized_.resize(tokens * blocks);
  each_token(tokens, [&](uint32_t t) {
    kernels_.quantize_activations(&values[size_t{t} * cols], static_cast<uint32_t>(blocks),
                                  &quantized_[t * blocks]);
  });
}

void Forward::matmul(const PackedMatrix& matrix, const std::vector<float>& values, uint32_t tokens,
                     float* out, bool add, int part, uint32_t panel_begin, uint32_t panel_end) {
  MatmulArgs args;
  args.matrix = matrix.view();
  args.values = values.data();
  args.blocks = quantized_.data();
  args.tokens = tokens;
  args.out = out;
  args.out_stride = matrix.rows();
  args.add = add;
  args.panel_begin = panel_begin;
  args.panel_end = panel_end;
  args.strip = strips_[static_cast<size_t>(part)].data();
  matrix.kernel(kernels_)(args);
}

}  // namespace troupe::cpu
