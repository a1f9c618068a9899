// Matrices cut out of others: what fused projections, stacked experts and files with another
// orientation need so that the forward pass sees [rows, cols] matrices only. Nothing is copied:
// a view borrows what its source borrows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tensor.hpp"

namespace troupe::model {

/// Rows `first` … `first + count - 1` of `from`, which has them.
Tensor slice_rows(const Tensor& from, uint32_t first, uint32_t count, std::string name);

/// Row i is row `rows[i]` of `from`: permutations, every second row, one head's part of each group.
Tensor gather_rows(const Tensor& from, std::vector<uint32_t> rows, std::string name);

/// Row i is column `first + i * step` of `from`, `count` rows: a transposed matrix (first 0, step
/// 1) or one of two that alternate column by column (step 2). The result keeps the type of F32, F16
/// and BF16 matrices; others, whose blocks lie along the row, become F32. Reading a row visits
/// every row of `from`.
Tensor columns_as_rows(const Tensor& from, uint32_t first, uint32_t step, uint32_t count,
                       std::string name);

/// Columns `first` … `first + count - 1` of every row: both are whole blocks of the type.
Tensor slice_cols(const Tensor& from, uint32_t first, uint32_t count, std::string name);

}  // namespace troupe::model
