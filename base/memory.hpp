// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Bytes that can be allocated without pushing others out: what the system calls available
/// (/proc/meminfo), less where a control group allows less. Nothing where neither can be read.
std::optional<uint64_t> available_memory();

/// "MemAvailable" of the text of /proc/meminfo, in bytes.
std::optional<uint64_t> parse_available(std::string_view meminfo);

/// "1.2 GiB", "34 MiB", "512 B": rounded, for people.
std::string bytes_text(uint64_t bytes);

}  // namespace troupe
