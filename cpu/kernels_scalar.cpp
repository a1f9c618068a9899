#include "cpu/make_kernel_table.hpp"
#include "cpu/simd_scalar.hpp"

namespace troupe::cpu {

const KernelTable& kernels_scalar() {
  static constexpr KernelTable table = make_kernel_table<ScalarIsa>(Isa::scalar);
  return table;
}

}  // namespace troupe::cpu
