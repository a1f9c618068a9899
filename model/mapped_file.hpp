// A file mapped read-only into memory for as long as the object lives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

namespace troupe::model {

/// The bytes are page-aligned. Somebody who truncates the file while it is mapped kills the
/// process with SIGBUS on the next access: model files are replaced, not edited.
class MappedFile {
 public:
  /// Errors: not_found, failed_precondition (no permission), invalid_argument (not a regular
  /// file), corrupt (empty), unavailable (the system refused the mapping).
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

/// Mapped bytes that are read soon: the system may fetch them ahead.
void will_read(std::span<const std::byte> bytes);

}  // namespace troupe::model
