// What the parts of the forward pass share: threads, kernels, scratch memory, and matrix products
// of a batch of rows with several matrices at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/packed_matrix.hpp"

namespace troupe::cpu {

inline constexpr int parts_per_thread = 4;

/// Rows of activations: [rows][cols], one after another.
struct MatmulInput {
  const float* values = nullptr;
  uint32_t rows = 0;
  uint32_t cols = 0;
};

/// `rows` rows of an input from `first_row` on times a matrix.
struct MatmulJob {
  const PackedMatrix* matrix = nullptr;
  float* out = nullptr;  ///< [rows][out_stride]
  size_t out_stride = 0;
  uint32_t rows = 0;
  uint32_t first_row = 0;
  bool add = false;  ///< to what is in `out`
};

class Compute {
 public:
  /// `cols_max`: of all matrices. Both must outlive this.
  Compute(const KernelTable& kernels, ThreadPool& pool, uint32_t cols_max);

  [[nodiscard]] const KernelTable& kernels() const { return kernels_; }
  /// Most parts that in_parts makes: scratch memory is kept for each.
  [[nodiscard]] size_t num_parts() const {
    return static_cast<size_t>(pool_.size() * parts_per_thread);
  }

  /// Runs task(part, parts) in more parts than threads: who is done early helps the others.
  void in_parts(const std::function<void(int part, int parts)>& task);
  /// Calls body(token) for each token; on this thread alone when there are few.
  void each_token(uint32_t tokens, const std::function<void(uint32_t)>& body);

  /// All jobs over one input, their panels shared out among the threads.
  void run(const MatmulInput& input, std::span<const MatmulJob> jobs);
  void run(const MatmulInput& input, const MatmulJob& job) { run(input, std::span(&job, 1)); }

  /// For callers that share out the panels themselves, inside of in_parts: first prepare() with all
  /// jobs, then the panels.
  void prepare(const MatmulInput& input, std::span<const MatmulJob> jobs);
  void panels(const MatmulInput& input, const MatmulJob& job, int part, uint32_t begin,
              uint32_t end);

 private:
  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::vector<QuantizedBlock> quantized_;       ///< of the input at hand
  std::vector<std::vector<CacheLine>> strips_;  ///< per part of a parallel step
};

}  // namespace troupe::cpu
