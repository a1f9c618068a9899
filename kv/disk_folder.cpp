#include "kv/disk_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {
namespace {

constexpr mode_t private_folder_mode = 0700;
constexpr mode_t others_mode = 077;
constexpr const char* lock_name = "lock";

Status check_private(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return disk_error("cannot look at " + path);
  if (info.st_uid != ::geteuid()) {
    return error(Code::invalid_argument, concat(path, " belongs to another user"),
                 "KV blocks reveal prompts: give the store a folder of its own");
  }
  if ((info.st_mode & others_mode) != 0) {
    return error(Code::invalid_argument, concat("other users may enter ", path),
                 concat("KV blocks reveal prompts: chmod 700 ", path));
  }
  return {};
}

std::string read_text(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  return n > 0 ? std::string(text, static_cast<size_t>(n)) : std::string();
}

}  // namespace

Result<std::unique_ptr<DiskFolder>> DiskFolder::open(const std::string& path, Use use) {
  std::unique_ptr<DiskFolder> folder(new DiskFolder);
  folder->path_ = path;
  folder->use_ = use;
  if (use == Use::own && ::mkdir(path.c_str(), private_folder_mode) != 0 && errno != EEXIST) {
    return disk_error("cannot make the folder " + path);
  }
  folder->folder_ =
      Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder->folder_) {
    const bool is_other = errno == ENOTDIR || errno == ELOOP;
    Error why = disk_error("cannot open the folder " + path);
    if (is_other) why.code = Code::invalid_argument;
    return why;
  }
  TROUPE_TRY(check_private(folder->folder_.get(), path));
  TROUPE_TRY(folder->take_lock());
  return folder;
}

Status DiskFolder::take_lock() {
  constexpr mode_t private_mode = 0600;
  lock_ = Descriptor(
      ::openat(folder_.get(), lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, private_mode));
  if (!lock_) return disk_error("cannot open the lock of " + path_);
  const int wanted = use_ == Use::own ? LOCK_EX : LOCK_SH;
  if (::flock(lock_.get(), wanted | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return disk_error("cannot lock " + path_);
    const std::string owner = read_text(lock_.get());
    return error(Code::failed_precondition,
                 concat(path_, " is in use by ",
                        owner.empty() ? std::string("another process") : "process " + owner),
                 "one store, one folder; stop that process first");
  }
  if (use_ != Use::own) return {};
  // Who it is, for the message above. Not worth a failure.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock_.get(), 0) == 0) (void)!::pwrite(lock_.get(), pid.data(), pid.size(), 0);
  return {};
}

Result<std::vector<uint32_t>> DiskFolder::numbers() const {
  std::vector<uint32_t> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(path_, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (const auto number = segment_number(entry->path().filename().string())) {
      numbers.push_back(*number);
    }
  }
  if (failed) {
    return error(Code::unavailable, concat("cannot list ", path_, ": ", failed.message()));
  }
  std::ranges::sort(numbers);
  if (numbers.size() > limits::segments_max) {
    numbers.erase(numbers.begin(), numbers.end() - limits::segments_max);
  }
  return numbers;
}

FoundSegment DiskFolder::find(uint32_t number) const {
  FoundSegment found;
  found.number = number;
  auto file = SegmentFile::open(folder_.get(), number, use_ == Use::own);
  if (!file) {
    found.unfit = file.error();
    struct stat info {};
    const std::string name = segment_name(number);
    if (::fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      found.file_bytes = static_cast<uint64_t>(info.st_size);
    }
    return found;
  }
  found.head = (*file)->head();
  if (const auto bytes = (*file)->file_bytes(); bytes.ok()) found.file_bytes = *bytes;
  auto contents = (*file)->contents();
  if (!contents) {
    found.unfit = contents.error();
    return found;
  }
  found.rows = std::move(contents->rows);
  found.is_sealed = contents->is_sealed;
  if (use_ != Use::own || found.is_sealed || found.rows.empty()) return found;
  // The next start need not look at every record. Without it, it must: not worth a failure.
  if (auto sealed = (*file)->seal(found.rows); !sealed) {
    log_warning("store", sealed.error().message());
  }
  return found;
}

Result<std::vector<FoundSegment>> DiskFolder::find_all() {
  TROUPE_ASSIGN(const auto all, numbers());
  std::vector<FoundSegment> segments;
  for (const uint32_t number : all) {
    FoundSegment found = find(number);
    const bool is_useless = found.unfit ? found.unfit->code == Code::corrupt : found.rows.empty();
    if (found.unfit) log_warning("store", concat(path_, ": ", found.unfit->message()));
    if (is_useless && use_ == Use::own) {
      if (auto removed = remove(number); removed) continue;
    }
    segments.push_back(std::move(found));
  }
  return segments;
}

Result<std::shared_ptr<SegmentFile>> DiskFolder::create(const SegmentHead& head) const {
  return SegmentFile::create(folder_.get(), head);
}

Result<std::shared_ptr<SegmentFile>> DiskFolder::open(uint32_t number) const {
  return SegmentFile::open(folder_.get(), number, use_ == Use::own);
}

Status DiskFolder::remove(uint32_t number) const {
  const std::string name = segment_name(number);
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return disk_error("cannot remove " + name);
  }
  return {};
}

}  // namespace troupe::kv
