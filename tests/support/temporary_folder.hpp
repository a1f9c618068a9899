// A folder in the system's temporary folder that is this process's own; removed at the end.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tests/support/gguf_format.hpp"

namespace troupe::testing {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("troupe-test-folder-" + std::to_string(++counter_) + "-" +
               std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

  void write(const std::string& name, const Bytes& bytes) const {
    write(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) std::abort();
  }

 private:
  inline static int counter_ = 0;
  std::filesystem::path path_;
};

}  // namespace troupe::testing
