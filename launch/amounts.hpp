// Amounts as people write them: 512MiB, 1.5GiB, 250ms, 30s. The unit is never left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::launch {

/// Bytes. Units: B, KiB, MiB, GiB, TiB and the decimal KB, MB, GB, TB. The error says what was
/// expected and guesses what was meant.
Result<uint64_t> parse_bytes(std::string_view text);

/// Milliseconds. Units: ms, s, m, h, d.
Result<uint64_t> parse_duration_ms(std::string_view text);

/// The shortest exact writing that parse_bytes reads back: 268435456 is "256MiB".
std::string format_bytes(uint64_t bytes);
std::string format_duration_ms(uint64_t ms);

}  // namespace troupe::launch
