#include "launch/daemon.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "launch/files.hpp"

namespace troupe::launch {
namespace {

// The numbers in a folder of /proc.
std::vector<int> numbers_in(const char* folder) {
  std::vector<int> numbers;
  DIR* open = ::opendir(folder);
  if (open == nullptr) return numbers;
  while (const dirent* entry = ::readdir(open)) {
    int number = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, number).ptr == end) numbers.push_back(number);
  }
  ::closedir(open);
  return numbers;
}

// A pipe of the caller that stayed open here would keep its reader waiting as long as we live.
void close_all_but(const std::vector<int>& kept) {
  for (const int fd : numbers_in("/proc/self/fd")) {
    if (fd > STDERR_FILENO && std::ranges::find(kept, fd) == kept.end()) ::close(fd);
  }
}

}  // namespace

Status start_daemon(const std::filesystem::path& log_file, const std::vector<int>& kept,
                    const std::function<int()>& body) {
  if (numbers_in("/proc/self/task").size() > 1) {
    return error(Code::failed_precondition, "a supervisor must be started before any thread");
  }
  const Descriptor log(
      ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return system_error("cannot open " + log_file.string());
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t middle = ::fork();
  if (middle < 0) return system_error("cannot start the supervisor");
  if (middle > 0) {
    int ignored = 0;
    while (::waitpid(middle, &ignored, 0) < 0 && errno == EINTR) {
    }
    return {};
  }
  ::setsid();
  if (const pid_t last = ::fork(); last != 0) ::_exit(last > 0 ? 0 : 1);
  ::umask(0077);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  close_all_but(kept);
  ::_exit(body());
}

}  // namespace troupe::launch
