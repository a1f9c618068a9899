#include "base/result.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>

using namespace troupe;

namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return error(Code::invalid_argument, "odd", "give an even number");
  return value / 2;
}

Result<int> quarter_of(int value) {
  TROUPE_ASSIGN(const int half, half_of(value));
  TROUPE_ASSIGN(const int quarter, half_of(half));
  return quarter;
}

Status check_even(int value) {
  TROUPE_TRY(half_of(value));
  return {};
}

Result<std::unique_ptr<int>> boxed(int value) {
  return std::make_unique<int>(value);
}

}  // namespace

TEST_CASE("a result holds a value or an error, and the macros pass errors on") {
  CHECK(*quarter_of(12) == 3);
  const auto failed = quarter_of(6);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == Code::invalid_argument);
  CHECK(failed.error().message() == "odd (give an even number)");
  CHECK(check_even(2).ok());
  CHECK_FALSE(check_even(1).ok());
  CHECK(check_even(1).error().what == "odd");
}

TEST_CASE("values that can only be moved are moved out") {
  std::unique_ptr<int> box = std::move(boxed(7)).value();
  CHECK(*box == 7);
}

TEST_CASE("an error without a hint is its sentence alone") {
  CHECK(error(Code::timeout, "too late").message() == "too late");
}

TEST_CASE("every code has a name of its own") {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    names.insert(name(static_cast<Code>(code)));
  }
  CHECK(names.size() == static_cast<size_t>(Code::internal) + 1);
  CHECK(std::string(name(Code::failed_precondition)) == "failed_precondition");
}
