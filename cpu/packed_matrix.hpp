// A weight matrix in the order in which the kernels read it: panels of 16 rows (zero rows fill the
// last one), the layout of a panel being its type's (panel_format.hpp).
#pragma once

#include <vector>

#include "base/result.hpp"
#include "base/thread_pool.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/matmul.hpp"
#include "cpu/weight_arena.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu {

class PackedMatrix {
 public:
  /// Packs `given` into a place of `arena`, which must outlive the matrix, unless it is there
  /// already: dequantised to F32 in exact mode, else as model::kernel_type says. `unit_cols` = 0:
  /// column-parallel; else row-parallel, its 8 segments are whole numbers of units of so many
  /// columns. Errors: corrupt (columns that do not fill blocks), those of the arena.
  static Result<PackedMatrix> pack(const model::Tensor& given, ComputeMode mode, uint32_t unit_cols,
                                   WeightArena& arena, ThreadPool& pool);

  [[nodiscard]] MatrixView view() const;
  [[nodiscard]] bool quantized() const { return quantized_; }
  [[nodiscard]] uint32_t num_panels() const { return (rows_ + panel_rows - 1) / panel_rows; }
  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t cols() const { return cols_; }
  [[nodiscard]] size_t bytes() const { return panel_bytes_ * num_panels(); }

  /// The kernel for this matrix's format.
  [[nodiscard]] auto kernel(const KernelTable& table) const { return table.*kernel_; }

 private:
  const uint8_t* panels_ = nullptr;
  size_t panel_bytes_ = 0;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  bool quantized_ = false;
  void (*KernelTable::*kernel_)(const MatmulArgs&) = nullptr;
  std::vector<uint32_t> segment_begin_;
};

/// Where each segment begins, in steps of `step_cols` columns: {0, steps} for unit_cols = 0, else 9
/// values. A unit that is no whole number of steps is widened to one that is.
std::vector<uint32_t> segment_begins(uint32_t cols, uint32_t step_cols, uint32_t unit_cols);

}  // namespace troupe::cpu
