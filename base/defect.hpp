// For states that only a mistake in our own code can reach: say which, then stop the process.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace troupe {

/// Never for bad input or a failing peer: those are Results.
[[noreturn]] inline void defect(const char* what) {
  std::fprintf(stderr, "troupe: defect: %s\n", what);
  std::abort();
}

}  // namespace troupe
