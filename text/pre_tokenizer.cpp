#include "text/pre_tokenizer.hpp"

#include <array>

#include "text/pre_tokenizer_gpt2.hpp"

namespace troupe::text {

namespace {

struct Entry {
  std::string_view name;
  SplitFunction split;
};

constexpr std::array entries = {
    Entry{"gpt-2", split_gpt2},
    Entry{"smollm", split_digits_gpt2},
    Entry{"starcoder", split_digits_gpt2},
};

}  // namespace

SplitFunction find_pre_tokenizer(std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.split;
  }
  return nullptr;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const Entry& entry : entries) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace troupe::text
