#include "cpu/packed_matrix.hpp"

#include <algorithm>
#include <numeric>

#include "base/concat.hpp"
#include "cpu/panel_format.hpp"
#include "model/kernel_type.hpp"

namespace troupe::cpu {

std::vector<uint32_t> segment_begins(uint32_t cols, uint32_t step_cols, uint32_t unit_cols) {
#ifdef TROUPE_FREE_ORDER
  unit_cols = 0;  // bench/ablation: one chain for all, as if no matrix were ever divided
#endif
  if (unit_cols == 0) return {0, cols / step_cols};
  const uint64_t unit = std::lcm(uint64_t{unit_cols}, uint64_t{step_cols});
  const uint64_t units = (cols + unit - 1) / unit;
  std::vector<uint32_t> begins;
  for (uint64_t s = 0; s <= tree_leaves; ++s) {
    const uint64_t col = std::min<uint64_t>(s * units / tree_leaves * unit, cols);
    begins.push_back(static_cast<uint32_t>(col / step_cols));
  }
  return begins;
}

Result<PackedMatrix> PackedMatrix::pack(const model::Tensor& given, ComputeMode mode,
                                        uint32_t unit_cols, WeightArena& arena, ThreadPool& pool) {
  const bool exact = mode == ComputeMode::exact;
  const model::Tensor tensor = exact ? given : model::as_kernel_type(given);
  const uint32_t block = model::info(tensor.type).block_size;
  if (tensor.cols == 0 || tensor.cols % block != 0) {
    return error(Code::corrupt,
                 concat("tensor ", tensor.name, " has rows of ", tensor.cols,
                        " elements, which is no multiple of ", block),
                 concat(model::info(tensor.type).name, " needs whole blocks"));
  }
  const model::TensorType type = exact ? model::TensorType::f32 : tensor.type;
  const PanelFormat format = panel_format(type);
  PackedMatrix packed;
  packed.rows_ = tensor.rows;
  packed.cols_ = tensor.cols;
  packed.quantized_ = format.quantized;
  packed.kernel_ = format.kernel;
  packed.panel_bytes_ = format.panel_bytes(tensor.cols);
  packed.segment_begin_ = segment_begins(tensor.cols, format.step_cols, unit_cols);

  TROUPE_ASSIGN(uint8_t* const panels, arena.take({tensor.rows, tensor.cols,
                                                   static_cast<uint32_t>(type), packed.bytes()}));
  packed.panels_ = panels;
  if (arena.is_packed()) return packed;
  pool.run([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(packed.num_panels(), part, parts);
    std::vector<std::byte> scratch;
    std::vector<float> values(exact ? tensor.cols : 0);
    for (int64_t p = begin; p < end; ++p) {
      uint8_t* panel = panels + static_cast<size_t>(p) * packed.panel_bytes_;
      const auto first = static_cast<uint32_t>(p) * panel_rows;
      const uint32_t count = std::min(panel_rows, tensor.rows - first);
      for (uint32_t lane = 0; lane < count; ++lane) {
        if (exact) model::dequantize_row(tensor, first + lane, values.data());
        const std::byte* row = exact ? reinterpret_cast<const std::byte*>(values.data())
                                     : model::stored_row(tensor, first + lane, scratch);
        format.pack_row(row, tensor.cols, lane, panel);
      }
    }
  });
  return packed;
}

MatrixView PackedMatrix::view() const {
  MatrixView view;
  view.panels = panels_;
  view.panel_bytes = panel_bytes_;
  view.rows = rows_;
  view.cols = cols_;
  view.segment_begin = segment_begin_.data();
  view.num_segments = static_cast<uint32_t>(segment_begin_.size() - 1);
  return view;
}

}  // namespace troupe::cpu
