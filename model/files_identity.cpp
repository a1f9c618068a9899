#include "model/files_identity.hpp"

#include <sys/stat.h>

#include "base/concat.hpp"

namespace troupe::model {

Result<Digest> files_identity(const std::vector<std::string>& files) {
  Sha256 hash;
  hash.update_u64(files.size());
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) {
      return error(Code::not_found, concat("cannot examine ", file));
    }
    for (const auto value : {static_cast<uint64_t>(status.st_dev), uint64_t{status.st_ino},
                             static_cast<uint64_t>(status.st_size)}) {
      hash.update_u64(value);
    }
    for (const timespec& time : {status.st_mtim, status.st_ctim}) {
      hash.update_u64(static_cast<uint64_t>(time.tv_sec));
      hash.update_u64(static_cast<uint64_t>(time.tv_nsec));
    }
  }
  return hash.finish();
}

}  // namespace troupe::model
