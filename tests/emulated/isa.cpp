// A CPU that claims every instruction set, so that the kernel tests run the emulated AVX-512 table.
// Linked before the library: its own isa.cpp is then not taken.
#define __builtin_cpu_supports(feature) 1
#include "cpu/isa.cpp"
