#include "cpu/draw_rows.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace troupe::cpu {
namespace {

using engine::Span;
using engine::SpanResult;

/// Rows of logits held at once: 64 rows of 49,152 are 12 MiB.
constexpr size_t rows_at_once = 64;

uint32_t first_draw(const Span& span) {
  return static_cast<uint32_t>(span.tokens.size()) - span.num_draws;
}

}  // namespace

DrawRows::DrawRows(Forward& forward, const KernelTable& kernels, uint32_t vocab_size,
                   ThreadPool& pool)
    : forward_(forward), vocab_size_(vocab_size), pool_(pool) {
  for (int i = 0; i < pool.size(); ++i) samplers_.emplace_back(kernels, vocab_size);
}

void DrawRows::run(const engine::StepPlan& plan, engine::StepResult& result) {
  std::vector<Row> rows;
  uint32_t batch_token = 0;
  for (uint32_t s = 0; s < plan.spans.size(); ++s) {
    const Span& span = plan.spans[s];
    SpanResult& out = result.spans[s];
    out.draws.resize(span.num_draws);
    out.scores.resize(span.score_targets.size());
    if (span.keep_logits) out.logits.resize(size_t{span.num_draws} * vocab_size_);
    for (uint32_t t = 0; t < span.tokens.size(); ++t, ++batch_token) {
      const bool scored = !span.score_targets.empty() && span.score_targets[t] >= 0;
      if (scored || t >= first_draw(span)) rows.push_back({s, t, batch_token});
    }
  }

  std::vector<std::optional<Error>> errors(rows.size());
  for (size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    const size_t count = std::min(rows_at_once, rows.size() - begin);
    std::vector<uint32_t> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(rows[begin + i].batch_token);
    float* logits = forward_.logits(tokens);
    const auto work = [&](int part, int parts) {
      const auto [from, to] = ThreadPool::share(static_cast<int64_t>(count), part, parts);
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
        finish(plan, rows[begin + i], logits + i * vocab_size_,
               samplers_[static_cast<size_t>(part)], result, errors, begin + i);
      }
    };
    if (count == 1) {
      work(0, 1);
    } else {
      pool_.run(work);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    std::optional<Error>& error = result.spans[rows[i].span].error;
    if (errors[i] && !error) error = std::move(errors[i]);
  }
}

void DrawRows::finish(const engine::StepPlan& plan, const Row& row, float* logits, Sampler& sampler,
                      engine::StepResult& result, std::vector<std::optional<Error>>& errors,
                      size_t at) {
  const Span& span = plan.spans[row.span];
  SpanResult& out = result.spans[row.span];
  if (!span.score_targets.empty() && span.score_targets[row.offset] >= 0) {
    const float score = sampler.log_probability(logits, span.score_targets[row.offset]);
    out.scores[row.offset] = score;
    if (std::isnan(score)) {
      errors[at] = error(Code::internal,
                         concat("the logits after position ", span.first_position + row.offset,
                                " hold NaN or infinity"),
                         "the weights or the KV cache are damaged");
    }
  }
  if (row.offset < first_draw(span)) return;
  const uint32_t draw = row.offset - first_draw(span);
  if (span.keep_logits) {
    std::copy_n(logits, vocab_size_,
                out.logits.begin() + static_cast<std::ptrdiff_t>(size_t{draw} * vocab_size_));
  }
  DrawContext context;
  context.params = span.sampling;
  context.history = span.history;
  context.drafts = std::span(span.tokens).subspan(first_draw(span) + 1, draw);
  context.position = span.first_position + row.offset + 1;
  Result<engine::Draw> drawn = sampler.draw(logits, context);
  if (drawn.ok()) {
    out.draws[draw] = std::move(drawn).value();
  } else {
    errors[at] = std::move(drawn).error();
  }
}

}  // namespace troupe::cpu
