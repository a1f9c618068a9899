#include "base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/concat.hpp"

namespace troupe {
namespace {

std::optional<std::string> file_text(const char* path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::stringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// The number that `text` begins with, after spaces.
std::optional<uint64_t> leading_number(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const auto [end, failure] =
      std::from_chars(text.data() + first, text.data() + text.size(), number);
  return failure == std::errc() ? std::optional(number) : std::nullopt;
}

/// What the control group leaves; nothing where it has no limit. Cached files count as free: they
/// are dropped when memory is wanted.
std::optional<uint64_t> group_memory() {
  const auto limit_text = file_text("/sys/fs/cgroup/memory.max");
  const auto used_text = file_text("/sys/fs/cgroup/memory.current");
  if (!limit_text || !used_text) return std::nullopt;
  const auto limit = leading_number(*limit_text);
  auto used = leading_number(*used_text);
  if (!limit || !used) return std::nullopt;
  constexpr std::string_view key = "\nfile ";
  const std::string parts = file_text("/sys/fs/cgroup/memory.stat").value_or("");
  const size_t at = parts.find(key);
  const auto cached = at == std::string::npos
                          ? std::optional<uint64_t>()
                          : leading_number(std::string_view(parts).substr(at + key.size()));
  *used -= std::min(*used, cached.value_or(0));
  return *limit - std::min(*limit, *used);
}

}  // namespace

std::optional<uint64_t> parse_available(std::string_view meminfo) {
  constexpr std::string_view key = "MemAvailable:";
  const size_t at = meminfo.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto kib = leading_number(meminfo.substr(at + key.size()));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

std::optional<uint64_t> available_memory() {
  const auto text = file_text("/proc/meminfo");
  const auto system = text ? parse_available(*text) : std::nullopt;
  const auto group = group_memory();
  if (system && group) return std::min(*system, *group);
  return system ? system : group;
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  uint64_t scale = 1;
  while (unit + 1 < std::size(units) && bytes / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  const uint64_t tenths = bytes / scale * 10 + bytes % scale * 10 / scale;
  if (unit == 0 || tenths >= 1000) return concat(tenths / 10, " ", units[unit]);
  return concat(tenths / 10, ".", tenths % 10, " ", units[unit]);
}

}  // namespace troupe
