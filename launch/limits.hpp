// Every limit of launch/, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::launch::limits {

inline constexpr size_t manifest_bytes = 1 << 20;
inline constexpr size_t manifest_nodes = 50'000;  ///< scalars, lists and maps
inline constexpr size_t manifest_depth = 16;      ///< lists and maps inside one another
inline constexpr size_t manifest_list = 4096;     ///< entries of one list
inline constexpr size_t manifest_text = 4096;     ///< bytes of one value
inline constexpr size_t problems_shown = 10;      ///< mistakes reported at once
inline constexpr size_t quoted_text = 60;         ///< bytes of a wrong value repeated in a message
inline constexpr size_t name_length = 63;
inline constexpr size_t processes = 1024;  ///< of one cluster

inline constexpr size_t state_bytes = 4 << 20;  ///< cluster.json
inline constexpr size_t pem_bytes = 64 << 10;
inline constexpr size_t secret_bytes = 4096;    ///< of security.secret_path
inline constexpr size_t log_tail_bytes = 4096;  ///< read from a log for an error message
inline constexpr size_t log_tail_lines = 12;
inline constexpr size_t ready_line = 64;  ///< bytes of "ready <port>"

inline constexpr uint64_t duration_ms_max = 365ull * 86'400'000;  ///< of any duration in a manifest

inline constexpr int start_attempts = 3;  ///< before `up` gives up on a process
inline constexpr int64_t back_off_first_ms = 100;
inline constexpr int64_t back_off_max_ms = 5'000;
inline constexpr int64_t healthy_after_ms = 30'000;  ///< the back-off starts again from the first
/// What the processes with the directory get to stop in, after all others have: they only answer.
inline constexpr int64_t directory_stop_ms = 2'000;
inline constexpr int64_t certificate_days = 365;

}  // namespace troupe::launch::limits
