// A mixture of experts: tokens are sorted by expert, each expert computes its tokens together, and
// a token adds what its experts gave in ascending order, so that nothing depends on its company.
#include <algorithm>

#include "cpu/forward.hpp"

namespace troupe::cpu {
namespace {

/// Tokens whose experts are computed at once: bounds the memory for gathered rows.
constexpr uint32_t experts_tokens_max = 256;

}  // namespace

void Forward::experts_part(const PackedLayer& layer) {
  route(layer);
  for (uint32_t first = 0; first < tokens_; first += experts_tokens_max) {
    run_experts(layer, first, std::min(experts_tokens_max, tokens_ - first));
  }
  if (config_.experts.shared_ffn_size != 0) {
    gate_and_up(layer.shared, normed());
    compute_.run({gate_.data(), tokens_, layer.shared.down.cols()},
                 {&layer.shared.down, branch_.data(), config_.hidden_size, tokens_, 0, true});
  }
  close_part(layer.shared.down_bias, layer.ffn_post_norm);
}

void Forward::route(const PackedLayer& layer) {
  const model::ExpertsConfig& c = config_.experts;
  compute_.run(normed(), {&layer.router, router_logits_.data(), c.count, tokens_, 0, false});
  compute_.each_token(tokens_, [&](uint32_t t) {
    float* logits = &router_logits_[size_t{t} * c.count];
    add_bias(layer.router_bias, logits);
    route_experts(c, logits, layer.choice_bias, &chosen_[size_t{t} * c.per_token]);
  });
}

/// expert_rows_[token, choice] becomes the row of the gathered tokens, expert_begin_[e] the first
/// row of expert e.
void Forward::sort_by_expert(uint32_t first_token, uint32_t tokens) {
  const model::ExpertsConfig& c = config_.experts;
  const size_t rows = size_t{tokens} * c.per_token;
  const ChosenExpert* chosen = &chosen_[size_t{first_token} * c.per_token];
  expert_begin_.assign(c.count + 1, 0);
  for (size_t i = 0; i < rows; ++i) ++expert_begin_[chosen[i].expert + 1];
  for (uint32_t e = 0; e < c.count; ++e) expert_begin_[e + 1] += expert_begin_[e];
  std::vector<uint32_t> next(expert_begin_.begin(), expert_begin_.end() - 1);
  expert_rows_.resize(std::max(expert_rows_.size(), rows));
  for (size_t i = 0; i < rows; ++i) expert_rows_[i] = next[chosen[i].expert]++;
}

void Forward::run_experts(const PackedLayer& layer, uint32_t first_token, uint32_t tokens) {
  const model::ExpertsConfig& c = config_.experts;
  const uint32_t hidden = config_.hidden_size, rows = tokens * c.per_token;
  sort_by_expert(first_token, tokens);
  gathered_.resize(std::max(gathered_.size(), size_t{rows} * hidden));
  expert_out_.resize(gathered_.size());
  for (std::vector<float>* buffer : {&expert_gate_, &expert_up_}) {
    buffer->resize(std::max(buffer->size(), size_t{rows} * c.ffn_size));
  }
  compute_.each_token(tokens, [&](uint32_t t) {
    const float* from = &normed_[size_t{first_token + t} * hidden];
    for (uint32_t i = 0; i < c.per_token; ++i) {
      std::copy_n(from, hidden, &gathered_[size_t{expert_rows_[t * c.per_token + i]} * hidden]);
    }
  });
  std::vector<MatmulJob> up, down;
  for (uint32_t e = 0; e < c.count; ++e) {
    const PackedFfn& expert = layer.experts[e];
    const uint32_t begin = expert_begin_[e], count = expert_begin_[e + 1] - begin;
    if (count == 0) continue;
    const size_t at = size_t{begin} * c.ffn_size;
    up.push_back({&expert.gate, &expert_gate_[at], c.ffn_size, count, begin, false});
    up.push_back({&expert.up, &expert_up_[at], c.ffn_size, count, begin, false});
    down.push_back(
        {&expert.down, &expert_out_[size_t{begin} * hidden], hidden, count, begin, false});
  }
  compute_.run({gathered_.data(), rows, hidden}, up);
  compute_.each_token(tokens, [&](uint32_t t) {
    for (uint32_t i = 0; i < c.per_token; ++i) {
      const uint32_t expert = chosen_[size_t{first_token + t} * c.per_token + i].expert;
      const size_t at = size_t{expert_rows_[t * c.per_token + i]} * c.ffn_size;
      activate(layer.experts[expert], &expert_gate_[at], &expert_up_[at], 0, c.ffn_size);
    }
  });
  compute_.run({expert_gate_.data(), rows, c.ffn_size}, down);
  compute_.each_token(tokens, [&](uint32_t t) {
    sum_experts(layer, first_token + t, &expert_rows_[size_t{t} * c.per_token]);
  });
}

void Forward::sum_experts(const PackedLayer& layer, uint32_t token, const uint32_t* rows) {
  const uint32_t hidden = config_.hidden_size, count = config_.experts.per_token;
  const ChosenExpert* chosen = &chosen_[size_t{token} * count];
  float* sum = &branch_[size_t{token} * hidden];
  std::fill_n(sum, hidden, 0.0f);
  for (uint32_t i = 0; i < count; ++i) {
    float* out = &expert_out_[size_t{rows[i]} * hidden];
    add_bias(layer.experts[chosen[i].expert].down_bias, out);
    for (uint32_t d = 0; d < hidden; ++d) sum[d] += chosen[i].weight * out[d];
  }
}

}  // namespace troupe::cpu
