// What one rendering may use. Every loop over template data charges here, so that a hostile
// template ends with an error in bounded time and memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/jinja_error.hpp"
#include "text/text_limits.hpp"

namespace troupe::text::jinja {

class Budget {
 public:
  void work(size_t units = 1) {
    fuel_ -= static_cast<int64_t>(units);
    if (fuel_ < 0) {
      throw Failure{Code::exhausted,
                    concat("the template took more than ", limits::template_fuel, " steps"), 0};
    }
  }

  /// Charges bytes that are read, copied or compared.
  void touch(size_t bytes) { work(1 + bytes / 64); }

  /// Charges bytes that a new value holds.
  void allocate(size_t bytes) {
    touch(bytes);
    memory_ += bytes;
    if (memory_ > limits::template_memory_bytes_max) {
      throw Failure{
          Code::exhausted,
          concat("the template made more than ", limits::template_memory_bytes_max, " bytes"), 0};
    }
  }

 private:
  int64_t fuel_ = limits::template_fuel;
  size_t memory_ = 0;
};

}  // namespace troupe::text::jinja
