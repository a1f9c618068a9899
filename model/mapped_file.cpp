#include "model/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/concat.hpp"

namespace troupe::model {
namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

Error open_error(const std::string& path, int number) {
  const std::string what = concat("cannot open ", path, ": ", reason(number));
  if (number == ENOENT || number == ENOTDIR) {
    return error(Code::not_found, what,
                 "give the path of a GGUF file or of a folder with config.json");
  }
  if (number == EACCES || number == EPERM) {
    return error(Code::failed_precondition, what, "make the file readable for this user");
  }
  return error(Code::unavailable, what);
}

Result<std::span<const std::byte>> map(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    return error(Code::unavailable, concat("cannot examine ", path, ": ", reason(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return error(Code::invalid_argument, concat(path, " is not a regular file"),
                 "give the path of a GGUF file or of a folder with config.json");
  }
  if (status.st_size == 0) {
    return error(Code::corrupt, concat(path, " is empty"), "fetch the file again");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) {
    return error(Code::unavailable,
                 concat("cannot map ", size, " bytes of ", path, ": ", reason(errno)));
  }
  return std::span(static_cast<const std::byte*>(address), size);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return open_error(path, errno);
  auto bytes = map(descriptor, path);
  ::close(descriptor);
  if (!bytes) return std::move(bytes).error();
  return std::shared_ptr<const MappedFile>(new MappedFile(*bytes));
}

MappedFile::~MappedFile() {
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void will_read(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  // Only a hint: whether it is taken changes nothing but the time.
  if (!bytes.empty()) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

}  // namespace troupe::model
