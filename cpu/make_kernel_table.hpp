// Instantiates every kernel for one instruction set. Only the kernels_*.cpp files include this,
// each compiled with its own flags; nothing that is not a template over the instruction set is
// called in them, so that no function compiled for AVX can stand in for a portable one.
#pragma once

#include "cpu/activations.hpp"
#include "cpu/attention.hpp"
#include "cpu/attention_general.hpp"
#include "cpu/index_scores.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/log_softmax.hpp"
#include "cpu/matmul_float.hpp"
#include "cpu/matmul_iq4.hpp"
#include "cpu/matmul_k.hpp"
#include "cpu/matmul_q4_q5.hpp"
#include "cpu/matmul_q8_0.hpp"
#include "cpu/quantize_activations.hpp"
#include "cpu/rmsnorm.hpp"
#include "cpu/rope.hpp"
#include "cpu/swiglu.hpp"
#include "cpu/write_kv.hpp"

namespace troupe::cpu {

template <class Lanes>
constexpr KernelTable make_kernel_table(Isa isa) {
  KernelTable table;
  table.isa = isa;
  table.matmul_f32 = matmul<Lanes, FloatFormat<Lanes, float>>;
  table.matmul_f16 = matmul<Lanes, FloatFormat<Lanes, uint16_t>>;
  table.matmul_bf16 = matmul<Lanes, FloatFormat<Lanes, Bf16>>;
  table.matmul_q8_0 = matmul<Lanes, Q8_0Format<Lanes>>;
  table.matmul_q4_0 = matmul<Lanes, Q4_0Format<Lanes>>;
  table.matmul_q4_1 = matmul<Lanes, Q4_1Format<Lanes>>;
  table.matmul_q5_0 = matmul<Lanes, Q5_0Format<Lanes>>;
  table.matmul_q5_1 = matmul<Lanes, Q5_1Format<Lanes>>;
  table.matmul_q4_k = matmul<Lanes, Q4_KFormat<Lanes>>;
  table.matmul_q5_k = matmul<Lanes, Q5_KFormat<Lanes>>;
  table.matmul_q6_k = matmul<Lanes, Q6_KFormat<Lanes>>;
  table.matmul_iq4_nl = matmul<Lanes, Iq4_NlFormat<Lanes>>;
  table.matmul_iq4_xs = matmul<Lanes, Iq4_XsFormat<Lanes>>;
  table.matmul_mxfp4 = matmul<Lanes, Mxfp4Format<Lanes>>;
  table.quantize_activations = quantize_activations<Lanes>;
  table.rmsnorm = rmsnorm<Lanes>;
  table.rope = rope<Lanes>;
  table.write_kv = write_kv<Lanes>;
  table.attention = attention<Lanes>;
  table.merge_attention = merge_attention<Lanes>;
  table.general_attention = general_attention<Lanes>;
  table.merge_general_attention = merge_general_attention<Lanes>;
  table.index_scores = index_scores<Lanes>;
  table.swiglu = swiglu<Lanes>;
  table.gelu_tanh = gelu_tanh<Lanes>;
  table.clamped_swiglu = clamped_swiglu<Lanes>;
  table.soft_cap = soft_cap<Lanes>;
  table.maximum = maximum<Lanes>;
  table.exp_sum = exp_sum<Lanes>;
  return table;
}

}  // namespace troupe::cpu
