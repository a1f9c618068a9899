// The instruction sets that this CPU can run; one that it lacks is said to be skipped.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cpu/kernel_table.hpp"

namespace troupe::testing {

inline std::vector<cpu::Isa> available_isas() {
  std::vector<cpu::Isa> isas;
  for (const cpu::Isa isa : cpu::all_isas) {
    if (cpu::cpu_has(isa)) {
      isas.push_back(isa);
    } else {
      MESSAGE("SKIPPED: this CPU does not have ", std::string(cpu::name(isa)));
    }
  }
  return isas;
}

}  // namespace troupe::testing
