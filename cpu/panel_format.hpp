// How each type of weights that has a kernel becomes panels, and which kernel reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu {

struct PanelFormat {
  void (*KernelTable::*kernel)(const MatmulArgs&) = nullptr;
  uint32_t step_cols = 1;  ///< columns of a step of K: segments begin at steps
  size_t step_bytes = 0;   ///< of the 16 rows of a panel
  bool quantized = false;  ///< activations are quantised, too
  /// Puts a row of `cols` columns as it is stored (F32 for F64) into lane `lane` of a panel.
  void (*pack_row)(const std::byte* stored, uint32_t cols, uint32_t lane, uint8_t* panel) = nullptr;

  [[nodiscard]] size_t panel_bytes(uint32_t cols) const { return cols / step_cols * step_bytes; }
};

/// `type` is one that model::kernel_type returns.
PanelFormat panel_format(model::TensorType type);

}  // namespace troupe::cpu
