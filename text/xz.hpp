// Files packed with xz.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::text {

/// True for bytes that begin as an xz file does.
bool is_xz(std::string_view bytes);

/// The unpacked bytes. corrupt: not an xz file, or damaged; exhausted: more than `bytes_max`, or it
/// asks for more memory than unpacking a vocabulary takes.
Result<std::string> unpack_xz(std::string_view packed, size_t bytes_max);

}  // namespace troupe::text
