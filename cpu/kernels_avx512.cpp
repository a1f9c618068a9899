#include "cpu/make_kernel_table.hpp"
#include "cpu/simd_avx512.hpp"

namespace troupe::cpu {

const KernelTable& kernels_avx512() {
  static constexpr KernelTable table = make_kernel_table<Avx512Isa>(Isa::avx512);
  return table;
}

}  // namespace troupe::cpu
