#include "cpu/packed_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/concat.hpp"
#include "cpu/matmul_q4.hpp"
#include "cpu/matmul_q8_0.hpp"
#include "model/kernel_type.hpp"

namespace troupe::cpu {
namespace {

using model::Tensor;
using model::TensorType;

struct Scratch {
  std::vector<float> values;
  std::vector<std::byte> stored;
};

/// Stored block: `floats` F16 numbers (d, or d and m), 16 bytes whose low nibbles are elements
/// 0..15 and high ones 16..31.
template <uint32_t floats>
void pack_q4_row(const uint8_t* stored, uint32_t blocks, uint32_t lane, uint8_t* panel) {
  constexpr uint32_t header = 2 * floats;
  for (uint32_t b = 0; b < blocks; ++b, stored += header + 16, panel += 256 + 32 * floats) {
    for (uint32_t i = 0; i < floats; ++i) {
      std::memcpy(panel + 256 + 32 * i + 2 * lane, stored + 2 * i, 2);
    }
    // Elements 8j..8j+3 and 8j+4..8j+7 of a chunk come from two words of the same half.
    for (uint32_t chunk = 0; chunk < 4; ++chunk) {
      uint32_t low, high;
      std::memcpy(&low, stored + header + 8 * (chunk % 2), 4);
      std::memcpy(&high, stored + header + 8 * (chunk % 2) + 4, 4);
      const uint32_t both = chunk < 2 ? (low & 0x0f0f0f0fu) | ((high & 0x0f0f0f0fu) << 4)
                                      : ((low >> 4) & 0x0f0f0f0fu) | (high & 0xf0f0f0f0u);
      std::memcpy(panel + 64 * chunk + 4 * lane, &both, 4);
    }
  }
}

/// Stored block: d, 32 signed bytes.
void pack_q8_0_row(const uint8_t* stored, uint32_t blocks, uint32_t lane, uint8_t* panel) {
  for (uint32_t b = 0; b < blocks; ++b, stored += 34, panel += q8_0_panel_block_bytes) {
    std::memcpy(panel + 512 + 2 * lane, stored, 2);
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      std::memcpy(panel + 64 * chunk + 4 * lane, stored + 2 + 4 * chunk, 4);
    }
  }
}

template <class Element>
void pack_float_row(const uint8_t* stored, uint32_t cols, uint32_t lane, uint8_t* panel) {
  for (uint32_t k = 0; k < cols; ++k) {
    std::memcpy(panel + (size_t{k} * panel_rows + lane) * sizeof(Element),
                stored + k * sizeof(Element), sizeof(Element));
  }
}

void pack_row(const Tensor& tensor, bool exact, uint32_t row, uint32_t lane, uint8_t* panel,
              Scratch& scratch) {
  const uint32_t blocks = tensor.cols / quant_block;
  if (exact || tensor.type == TensorType::f32) {
    scratch.values.resize(tensor.cols);
    model::dequantize_row(tensor, row, scratch.values.data());
    pack_float_row<float>(reinterpret_cast<const uint8_t*>(scratch.values.data()), tensor.cols,
                          lane, panel);
    return;
  }
  const auto* stored =
      reinterpret_cast<const uint8_t*>(model::stored_row(tensor, row, scratch.stored));
  if (tensor.type == TensorType::f16 || tensor.type == TensorType::bf16) {
    pack_float_row<uint16_t>(stored, tensor.cols, lane, panel);
  } else if (tensor.type == TensorType::q8_0) {
    pack_q8_0_row(stored, blocks, lane, panel);
  } else if (tensor.type == TensorType::q4_0) {
    pack_q4_row<1>(stored, blocks, lane, panel);
  } else {
    pack_q4_row<2>(stored, blocks, lane, panel);
  }
}

}  // namespace

std::vector<uint32_t> segment_begins(uint32_t cols, uint32_t step_cols, uint32_t unit_cols) {
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

Result<PackedMatrix> PackedMatrix::pack(const Tensor& given, ComputeMode mode, uint32_t unit_cols,
                                        WeightArena& arena, ThreadPool& pool) {
  const bool exact = mode == ComputeMode::exact;
  const Tensor tensor = exact ? given : model::as_kernel_type(given);
  const uint32_t block = model::info(tensor.type).block_size;
  if (tensor.cols == 0 || tensor.cols % block != 0) {
    return error(Code::corrupt,
                 concat("tensor ", tensor.name, " has rows of ", tensor.cols,
                        " elements, which is no multiple of ", block),
                 concat(model::info(tensor.type).name, " needs whole blocks"));
  }
  PackedMatrix packed;
  packed.rows_ = tensor.rows;
  packed.cols_ = tensor.cols;
  packed.quantized_ = !exact && block > 1;
  if (exact || tensor.type == TensorType::f32) {
    packed.kernel_ = &KernelTable::matmul_f32;
    packed.panel_bytes_ = size_t{tensor.cols} * panel_rows * sizeof(float);
  } else if (tensor.type == TensorType::f16 || tensor.type == TensorType::bf16) {
    packed.kernel_ =
        tensor.type == TensorType::f16 ? &KernelTable::matmul_f16 : &KernelTable::matmul_bf16;
    packed.panel_bytes_ = size_t{tensor.cols} * panel_rows * sizeof(uint16_t);
  } else if (tensor.type == TensorType::q8_0) {
    packed.kernel_ = &KernelTable::matmul_q8_0;
    packed.panel_bytes_ = tensor.cols / quant_block * q8_0_panel_block_bytes;
  } else if (tensor.type == TensorType::q4_0) {
    packed.kernel_ = &KernelTable::matmul_q4_0;
    packed.panel_bytes_ = tensor.cols / quant_block * q4_0_panel_block_bytes;
  } else {
    packed.kernel_ = &KernelTable::matmul_q4_1;
    packed.panel_bytes_ = tensor.cols / quant_block * q4_1_panel_block_bytes;
  }
  packed.segment_begin_ =
      segment_begins(tensor.cols, packed.quantized_ ? quant_block : 1, unit_cols);

  TROUPE_ASSIGN(packed.panels_, arena.take(packed.bytes()));
  pool.run([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(packed.num_panels(), part, parts);
    Scratch scratch;
    for (int64_t p = begin; p < end; ++p) {
      uint8_t* panel = packed.panels_ + static_cast<size_t>(p) * packed.panel_bytes_;
      const auto first = static_cast<uint32_t>(p) * panel_rows;
      const uint32_t count = std::min(panel_rows, tensor.rows - first);
      for (uint32_t lane = 0; lane < count; ++lane) {
        pack_row(tensor, exact, first + lane, lane, panel, scratch);
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
