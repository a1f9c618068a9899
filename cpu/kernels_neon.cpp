#include "cpu/make_kernel_table.hpp"
#include "cpu/simd_neon.hpp"

namespace troupe::cpu {

const KernelTable& kernels_neon() {
  static constexpr KernelTable table = make_kernel_table<NeonIsa>(Isa::neon);
  return table;
}

}  // namespace troupe::cpu
