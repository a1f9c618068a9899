#include "cpu/compute.hpp"

#include <algorithm>

namespace troupe::cpu {
namespace {

/// Below this many tokens a wake-up of the other threads costs more than the work.
constexpr uint32_t tokens_worth_sharing = 8;

}  // namespace

Compute::Compute(const KernelTable& kernels, ThreadPool& pool, uint32_t cols_max)
    : kernels_(kernels), pool_(pool), strips_(num_parts()) {
  for (std::vector<CacheLine>& strip : strips_) strip.resize(matmul_strip_lines(cols_max));
}

void Compute::in_parts(const std::function<void(int part, int parts)>& task) {
  pool_.run(task, parts_per_thread);
}

void Compute::each_token(uint32_t tokens, const std::function<void(uint32_t)>& body) {
  if (tokens < tokens_worth_sharing) {
    for (uint32_t t = 0; t < tokens; ++t) body(t);
    return;
  }
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(tokens, part, parts);
    for (int64_t t = begin; t < end; ++t) body(static_cast<uint32_t>(t));
  });
}

void Compute::prepare(const MatmulInput& input, std::span<const MatmulJob> jobs) {
  const bool quantized = std::any_of(jobs.begin(), jobs.end(),
                                     [](const MatmulJob& job) { return job.matrix->quantized(); });
  if (!quantized) return;
  const size_t blocks = input.cols / quant_block;
  if (quantized_.size() < input.rows * blocks) quantized_.resize(input.rows * blocks);
  each_token(input.rows, [&](uint32_t t) {
    kernels_.quantize_activations(input.values + size_t{t} * input.cols,
                                  static_cast<uint32_t>(blocks), &quantized_[t * blocks]);
  });
}

void Compute::run(const MatmulInput& input, std::span<const MatmulJob> jobs) {
  prepare(input, jobs);
  int64_t panels_of_all = 0;
  for (const MatmulJob& job : jobs) panels_of_all += job.matrix->num_panels();
  in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(panels_of_all, part, parts);
    int64_t first = 0;
    for (const MatmulJob& job : jobs) {
      const int64_t last = first + job.matrix->num_panels();
      const int64_t from = std::max(begin, first), to = std::min(end, last);
      if (from < to) {
        panels(input, job, part, static_cast<uint32_t>(from - first),
               static_cast<uint32_t>(to - first));
      }
      first = last;
    }
  });
}

void Compute::panels(const MatmulInput& input, const MatmulJob& job, int part, uint32_t begin,
                     uint32_t end) {
  MatmulArgs args;
  args.matrix = job.matrix->view();
  args.values = input.values + size_t{job.first_row} * input.cols;
  if (!quantized_.empty()) {
    args.blocks = quantized_.data() + size_t{job.first_row} * (input.cols / quant_block);
  }
  args.tokens = job.rows;
  args.out = job.out;
  args.out_stride = job.out_stride;
  args.add = job.add;
  args.panel_begin = begin;
  args.panel_end = end;
  args.strip = strips_[static_cast<size_t>(part)].data();
  job.matrix->kernel(kernels_)(args);
}

}  // namespace troupe::cpu
