// Numbers, times and names as people read them on a screen, in few and only printable characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::cli {

/// Printable ASCII; everything else becomes '?', so that no name can move the cursor.
std::string printable(std::string_view text);
/// "987", "12.3k", "4.56M": at most five characters up to 999 G.
std::string short_count(double count);
/// "512 B", "1.2 MiB".
std::string short_bytes(double bytes);
/// "850 us", "12.3 ms", "4.56 s", "3m20s", "2h05m", "4d03h".
std::string short_duration(int64_t us);
/// "63%"; "-" when there is no whole.
std::string percent(double part, double whole);
/// "[####......]" with `width` characters between the brackets; `share` from 0 to 1.
std::string bar(double share, size_t width);
/// "12:34:56Z"
std::string time_of_day(int64_t wall_us);
/// The first `digits` of the 16 hexadecimal digits of an identity.
std::string short_id(uint64_t id, size_t digits = 8);

/// Filled with spaces or cut to exactly `width` characters.
std::string fit_left(std::string text, size_t width);
std::string fit_right(std::string text, size_t width);

}  // namespace troupe::cli
