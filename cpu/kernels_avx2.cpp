#include "cpu/make_kernel_table.hpp"
#include "cpu/simd_avx2.hpp"

namespace troupe::cpu {

const KernelTable& kernels_avx2() {
  static constexpr KernelTable table = make_kernel_table<Avx2Isa>(Isa::avx2);
  return table;
}

}  // namespace troupe::cpu
