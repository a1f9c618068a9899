#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/support/folders.hpp"

namespace troupe::testing {

std::string source_folder() {
  return TROUPE_SOURCE_DIR;
}

std::string binary_folder() {
  return TROUPE_BINARY_DIR;
}

}  // namespace troupe::testing

int main(int argc, char** argv) {
  // Into a pipe stdout is written when its buffer is full, in the middle of a line, where a line of
  // the log on stderr then stands: what counts skipped tests must find each report whole.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  return doctest::Context(argc, argv).run();
}
