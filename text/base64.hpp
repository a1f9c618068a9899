// Base64 (RFC 4648), as tokenizer files hold bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::text {

/// corrupt: a character that is not of the alphabet, or a length that no bytes have. Padding may
/// be missing.
Result<std::string> from_base64(std::string_view text);

}  // namespace troupe::text
