// A CPU that claims every instruction set, so that the kernel tests run the emulated tables. Linked
// before the library: its own isa.cpp is then not taken.
#include <cpuid.h>

#define __builtin_cpu_supports(feature) 1
inline int emulated_cpuid_count(unsigned, unsigned, unsigned* a, unsigned* b, unsigned* c,
                                unsigned* d) {
  *a = *b = *c = *d = ~0u;
  return 1;
}
#define __get_cpuid_count emulated_cpuid_count
#include "cpu/isa.cpp"
