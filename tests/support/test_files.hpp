// Where tests find files that are not part of the project.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/support/folders.hpp"

namespace troupe::testing {

/// TROUPE_FIXTURES, or ../shared/fixtures beside the source tree. May be absent: then the test
/// prints SKIPPED and returns.
inline std::filesystem::path fixtures_dir() {
  const char* set = std::getenv("TROUPE_FIXTURES");
  return set != nullptr ? std::filesystem::path(set)
                        : std::filesystem::path(source_folder()) / "../shared/fixtures";
}

/// TROUPE_WEIGHTS, or weights/ in the source tree.
inline std::filesystem::path weights_dir() {
  const char* set = std::getenv("TROUPE_WEIGHTS");
  return set != nullptr ? std::filesystem::path(set)
                        : std::filesystem::path(source_folder()) / "weights";
}

inline std::filesystem::path smollm2_path() {
  return weights_dir() / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

/// A path in the system's temporary folder that is this process's own; removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& suffix)
      : path_(std::filesystem::temp_directory_path() /
              ("troupe-test-" + std::to_string(++counter_) + "-" + std::to_string(::getpid()) +
               suffix)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  inline static int counter_ = 0;
  std::filesystem::path path_;
};

}  // namespace troupe::testing
