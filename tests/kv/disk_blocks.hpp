// Blocks whose bytes follow from their number, so that a wrong one is seen wherever it turns up.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "kv/segment_format.hpp"

namespace troupe::testing {

/// A folder of this process in memory, where the system has such: thousands of small reads and
/// writes cost little there, and there is no O_DIRECT.
class MemoryFolder {
 public:
  MemoryFolder() {
    std::filesystem::path base = "/dev/shm";
    if (!std::filesystem::is_directory(base)) base = std::filesystem::temp_directory_path();
    path_ = base /
            ("troupe-test-disk-" + std::to_string(++counter_) + "-" + std::to_string(::getpid()));
    std::filesystem::create_directory(path_);
  }
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  static inline int counter_ = 0;
  std::filesystem::path path_;
};

inline kv::BlockName disk_name(uint32_t number) {
  kv::BlockName name;
  const uint32_t mixed = number * 2654435761u;
  std::memcpy(name.bytes.data(), &mixed, sizeof mixed);
  std::memcpy(name.bytes.data() + 4, &number, sizeof number);
  return name;
}

inline std::vector<std::byte> disk_block(uint32_t number, size_t bytes) {
  std::vector<std::byte> block(bytes);
  uint32_t state = number * 747796405u + 1;
  for (std::byte& byte : block) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return block;
}

inline kv::RecordHead disk_record(uint32_t number, size_t bytes) {
  return {disk_name(number), disk_name(number - 1), crc32c(disk_block(number, bytes)), 5};
}

inline Digest some_fingerprint(char letter = 'f') {
  Digest digest;
  digest.fill(static_cast<uint8_t>(letter));
  return digest;
}

}  // namespace troupe::testing
