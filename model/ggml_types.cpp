#include "model/ggml_types.hpp"

#include <iterator>

#include "base/concat.hpp"

namespace troupe::model {
namespace {

// The index is ggml's number; a null entry was withdrawn or never given.
constexpr const char* names[] = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  nullptr, nullptr,  "Q5_0",  "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K",  "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  nullptr, nullptr,  nullptr, "TQ1_0",   "TQ2_0",
    nullptr,   nullptr, nullptr,  "MXFP4", "NVFP4"};
static_assert(std::size(names) == 41);

}  // namespace

std::string ggml_type_name(uint32_t ggml_type) {
  if (ggml_type < std::size(names) && names[ggml_type] != nullptr) return names[ggml_type];
  return concat("type ", ggml_type);
}

}  // namespace troupe::model
