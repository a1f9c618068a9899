// Names of all ggml element types, also of those that this build cannot read: for error messages.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::model {

/// "Q4_K"; for a number that ggml does not define, "type 999".
std::string ggml_type_name(uint32_t ggml_type);

}  // namespace troupe::model
