// How the template interpreter fails inside: an exception, because failures cross dozens of nested
// evaluation calls. ChatTemplate catches it and returns an Error; it never leaves text/.
#pragma once

#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/result.hpp"

namespace troupe::text::jinja {

struct Failure {
  Code code = Code::invalid_argument;
  std::string what;
  int line = 0;  ///< of the template, 0: not known yet
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Failure{Code::invalid_argument, concat(parts...), 0};
}

}  // namespace troupe::text::jinja
