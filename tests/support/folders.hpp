// Where the source tree and the built programs lie. Known to one file only (tests/main.cpp), so
// that the others compile to the same object in every checkout.
#pragma once

#include <string>

namespace troupe::testing {

/// The root of the source tree, absolute.
std::string source_folder();

/// The folder of the built programs, absolute.
std::string binary_folder();

}  // namespace troupe::testing
