#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

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
    case Isa::neon:
      return "neon";
    case Isa::avx2:
      return "avx2";
    case Isa::avxvnni:
      return "avxvnni";
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

/// Nor for this one: leaf 7, subleaf 1 (where subleaf 0 says that there is one), EAX bit 4.
static bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || a < 1) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}
#endif

bool cpu_has(Isa isa) {
  if (std::find(std::begin(all_isas), std::end(all_isas), isa) == std::end(all_isas)) return false;
  if (isa == Isa::scalar) return true;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0 || !has_f16c()) {
    return false;
  }
  if (isa == Isa::avx2) return true;
  if (isa == Isa::avxvnni) return has_avxvnni();
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

const KernelTable& kernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512:
      return kernels_avx512();
    case Isa::avxvnni:
      return kernels_avxvnni();
    case Isa::avx2:
      return kernels_avx2();
#elif defined(__aarch64__)
    case Isa::neon:
      return kernels_neon();
#endif
    default:
      return kernels_scalar();
  }
}

static std::string names_of_all() {
  std::string names;
  for (const Isa isa : all_isas) names += concat(names.empty() ? "" : ", ", name(isa));
  return names;
}

Isa best_isa() {
  Isa ceiling = *std::rbegin(all_isas);
  if (const auto wanted = setting("TROUPE_ISA")) {
    const auto* match = std::find_if(std::begin(all_isas), std::end(all_isas),
                                     [&](Isa isa) { return *wanted == name(isa); });
    if (match == std::end(all_isas)) {
      log_warning("cpu", concat("TROUPE_ISA is \"", *wanted, "\", expected one of ", names_of_all(),
                                "; it is ignored"));
    } else {
      ceiling = *match;
    }
  }
  return *std::find_if(std::rbegin(all_isas), std::rend(all_isas),
                       [&](Isa isa) { return isa <= ceiling && cpu_has(isa); });
}

}  // namespace troupe::cpu
