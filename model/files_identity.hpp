// Whether files are still the ones that were read before, without reading them again.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"

namespace troupe::model {

/// Digest of what the file system says of the files (paths), in their order: device, inode, size
/// and the times of the last change of content and of the file itself. Whoever writes to one of
/// them, or puts another in its place, changes it. Names do not count. Errors: not_found.
Result<Digest> files_identity(const std::vector<std::string>& files);

}  // namespace troupe::model
