#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernel_table.hpp"

namespace troupe::cpu {

const char* name(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

#if defined(__x86_64__)
/// Clang 14 has no name for this feature: CPUID leaf 1, ECX bit 29.
static bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1u << 29)) != 0;
}
#endif

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  const bool avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  switch (isa) {
    case Isa::scalar:
      return true;
    case Isa::avx2:
      return avx2;
    case Isa::avx512:
      return avx2 && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  }
  return false;
#else
  return isa == Isa::scalar;
#endif
}

const KernelTable& kernels(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return kernels_avx512();
    case Isa::avx2:
      return kernels_avx2();
    case Isa::scalar:
      break;
  }
  return kernels_scalar();
}

Isa best_isa() {
  const Isa all[] = {Isa::avx512, Isa::avx2, Isa::scalar};
  Isa ceiling = Isa::avx512;
  if (const auto wanted = setting("TROUPE_ISA")) {
    const auto* match =
        std::find_if(std::begin(all), std::end(all), [&](Isa isa) { return *wanted == name(isa); });
    if (match == std::end(all)) {
      log_warning("cpu", concat("TROUPE_ISA is \"", *wanted,
                                "\", expected scalar, avx2 or avx512; it is ignored"));
    } else {
      ceiling = *match;
    }
  }
  return *std::find_if(std::begin(all), std::end(all),
                       [&](Isa isa) { return isa <= ceiling && cpu_has(isa); });
}

}  // namespace troupe::cpu
