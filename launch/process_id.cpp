#include "launch/process_id.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "launch/files.hpp"

namespace troupe::launch {
namespace {

constexpr size_t stat_bytes_max = 4096;
constexpr int start_time_field = 22;  // of /proc/PID/stat, counted from 1; see proc(5)

}  // namespace

std::optional<ProcessId> process_id(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const auto text = read_file(concat("/proc/", pid, "/stat"), stat_bytes_max);
  if (!text.ok()) return std::nullopt;
  // The second field is the program's name in brackets and may hold anything, brackets too.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return std::nullopt;
  size_t at = name_end + 2;
  const char state = (*text)[at];
  if (state == 'Z' || state == 'X') return std::nullopt;
  for (int field = 3; field < start_time_field; ++field) {
    at = text->find(' ', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  ProcessId id{.pid = pid, .start_time = 0};
  std::from_chars(text->data() + at, text->data() + text->size(), id.start_time);
  return id;
}

bool is_alive(const ProcessId& id) {
  const auto now = process_id(id.pid);
  return now && *now == id;
}

bool signal_process(const ProcessId& id, int signal, bool is_whole_group) {
  if (!is_alive(id)) return false;
  if (is_whole_group && ::getpgid(id.pid) == id.pid) return ::kill(-id.pid, signal) == 0;
  return ::kill(id.pid, signal) == 0;
}

bool wait_gone(const ProcessId& id, int64_t timeout_ms) {
  const int64_t deadline_us = now_us() + timeout_ms * 1000;
  const Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  while (is_alive(id)) {
    const int64_t left_ms = (deadline_us - now_us()) / 1000;
    if (left_ms <= 0) return false;
    // A pidfd wakes at the very moment; the step covers kernels that have none.
    pollfd entry{watch.get(), POLLIN, 0};
    const int64_t step_ms = watch ? 200 : 10;
    ::poll(&entry, watch ? 1 : 0, static_cast<int>(std::min(left_ms, step_ms)));
  }
  return true;
}

}  // namespace troupe::launch
