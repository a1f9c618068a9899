#include "cpu/make_kernel_table.hpp"
#include "cpu/simd_avxvnni.hpp"

namespace troupe::cpu {

const KernelTable& kernels_avxvnni() {
  static constexpr KernelTable table = make_kernel_table<AvxVnniIsa>(Isa::avxvnni);
  return table;
}

}  // namespace troupe::cpu
