// The kernels of one instruction set as function pointers, chosen once at run time. All tables give
// the same bits; what each entry means stands in the header of its kernel.
#pragma once

#include <cstdint>

#include "cpu/attention.hpp"
#include "cpu/attention_general.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/index_scores.hpp"
#include "cpu/matmul.hpp"
#include "cpu/write_kv.hpp"

namespace troupe::cpu {

struct KernelTable {
  Isa isa = Isa::scalar;
  void (*matmul_f32)(const MatmulArgs&) = nullptr;
  void (*matmul_f16)(const MatmulArgs&) = nullptr;
  void (*matmul_bf16)(const MatmulArgs&) = nullptr;
  void (*matmul_q8_0)(const MatmulArgs&) = nullptr;
  void (*matmul_q4_0)(const MatmulArgs&) = nullptr;
  void (*matmul_q4_1)(const MatmulArgs&) = nullptr;
  void (*matmul_q5_0)(const MatmulArgs&) = nullptr;
  void (*matmul_q5_1)(const MatmulArgs&) = nullptr;
  void (*matmul_q4_k)(const MatmulArgs&) = nullptr;
  void (*matmul_q5_k)(const MatmulArgs&) = nullptr;
  void (*matmul_q6_k)(const MatmulArgs&) = nullptr;
  void (*matmul_iq4_nl)(const MatmulArgs&) = nullptr;
  void (*matmul_iq4_xs)(const MatmulArgs&) = nullptr;
  void (*matmul_mxfp4)(const MatmulArgs&) = nullptr;
  void (*quantize_activations)(const float* x, uint32_t blocks, QuantizedBlock* out) = nullptr;
  void (*rmsnorm)(const float* x, const float* weight, float epsilon, uint32_t n,
                  float* y) = nullptr;
  void (*rope)(float* head, const float* cosine, const float* sine, uint32_t dim,
               bool neighbours) = nullptr;
  void (*write_kv)(const WriteKvArgs&) = nullptr;
  void (*attention)(const AttentionArgs&) = nullptr;
  void (*merge_attention)(const AttentionArgs&) = nullptr;
  void (*general_attention)(const GeneralAttentionArgs&) = nullptr;
  void (*merge_general_attention)(const GeneralAttentionArgs&) = nullptr;
  void (*index_scores)(const IndexScoresArgs&) = nullptr;
  void (*swiglu)(float* gate, const float* up, uint32_t n) = nullptr;
  void (*gelu_tanh)(float* gate, const float* up, uint32_t n) = nullptr;
  void (*clamped_swiglu)(float* gate, const float* up, uint32_t n, float limit,
                         float alpha) = nullptr;
  void (*soft_cap)(float* x, uint32_t n, float cap) = nullptr;
  float (*maximum)(const float* x, uint32_t n) = nullptr;
  float (*exp_sum)(const float* x, uint32_t n, float divisor, float highest,
                   float* weights) = nullptr;
};

/// True when this CPU (and its operating system) can run the table.
bool cpu_has(Isa isa);
/// The table of `isa`, which the CPU must have.
const KernelTable& kernels(Isa isa);

const KernelTable& kernels_scalar();
const KernelTable& kernels_neon();
const KernelTable& kernels_avx2();
const KernelTable& kernels_avxvnni();
const KernelTable& kernels_avx512();

}  // namespace troupe::cpu
