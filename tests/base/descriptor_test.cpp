#include "base/descriptor.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <utility>

using troupe::Descriptor;

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST_CASE("descriptor: closed once, by its last owner") {
  int number = -1;
  {
    Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(first);
    number = first.get();
    Descriptor second(std::move(first));
    CHECK(is_open(number));
    Descriptor third;
    CHECK_FALSE(third);
    third = std::move(second);
    CHECK(third.get() == number);
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("descriptor: reset closes and may come twice") {
  Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = file.get();
  file.reset();
  CHECK_FALSE(is_open(number));
  CHECK_FALSE(file);
  file.reset();
}

}  // namespace
