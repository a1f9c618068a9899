#include "launch/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/concat.hpp"
#include "launch/limits.hpp"

namespace troupe::launch {
namespace {

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write " + path);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<std::string> read_some(int fd, size_t bytes_max, const std::string& path) {
  std::string text;
  char buffer[16384];
  while (text.size() <= bytes_max) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read " + path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return error(Code::exhausted, concat(path, " is longer than ", bytes_max, " bytes"));
}

}  // namespace

Error system_error(const std::string& what) {
  const int number = errno;
  const Code code = number == ENOENT ? Code::not_found : Code::unavailable;
  return error(code, what + ": " + std::strerror(number));
}

Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error("cannot open " + path.string());
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot read " + path.string());
  if (!S_ISREG(info.st_mode)) {
    return error(Code::invalid_argument, path.string() + " is not a regular file");
  }
  return read_some(fd.get(), bytes_max, path.string());
}

std::string tail_of(const std::filesystem::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return {};
  const auto window = static_cast<off_t>(limits::log_tail_bytes);
  if (info.st_size > window) ::lseek(fd.get(), info.st_size - window, SEEK_SET);
  // A log that grows meanwhile only lengthens what is cut below.
  auto text = read_some(fd.get(), 4 * limits::log_tail_bytes, path.string());
  if (!text.ok()) return {};
  std::string tail = std::move(text).value();
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  size_t start = tail.size();
  for (size_t lines = 0; lines < limits::log_tail_lines && start > 0; ++lines) {
    const size_t line_end = tail.rfind('\n', start - 1);
    if (line_end == std::string::npos) return tail;
    start = line_end;
  }
  return start == 0 ? tail : tail.substr(start + 1);
}

Status create_file(const std::filesystem::path& path, std::string_view text) {
  const Descriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot create " + path.string());
  return write_all(fd.get(), text, path.string());
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  const std::string temporary = concat(path.string(), ".", ::getpid(), ".new");
  ::unlink(temporary.c_str());
  TROUPE_TRY(create_file(temporary, text));
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const Error failed = system_error("cannot replace " + path.string());
  ::unlink(temporary.c_str());
  return failed;
}

Status make_private_folder(const std::filesystem::path& path, bool is_shared_ok) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error("cannot make the folder " + path.string());
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return system_error("cannot read " + path.string());
  const auto refuse = [&](const std::string& what) {
    return error(Code::failed_precondition, path.string() + " " + what,
                 "set TROUPE_RUN_DIR to a folder of your own");
  };
  if (!S_ISDIR(info.st_mode)) return refuse("is a link or a file, expected a folder");
  if (info.st_uid != ::geteuid()) return refuse("belongs to another user");
  if ((info.st_mode & (is_shared_ok ? 0022u : 0077u)) != 0) {
    return refuse("is open to other users, expected mode 0700");
  }
  return {};
}

}  // namespace troupe::launch
