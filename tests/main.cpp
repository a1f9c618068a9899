#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "tests/support/folders.hpp"

namespace troupe::testing {

std::string source_folder() {
  return TROUPE_SOURCE_DIR;
}

std::string binary_folder() {
  return TROUPE_BINARY_DIR;
}

}  // namespace troupe::testing
