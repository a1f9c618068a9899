#include "transport/progress_thread.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

#include "transport/limits.hpp"

namespace troupe::transport {

Status ProgressThread::start(std::vector<UcxWorker*> workers, std::function<Turn(TimeUs)> turn) {
  workers_ = std::move(workers);
  turn_ = std::move(turn);
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  command_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  bool ok = epoll_fd_ >= 0 && command_fd_ >= 0;
  std::vector<int> descriptors{command_fd_};
  for (const UcxWorker* worker : workers_) descriptors.push_back(worker->event_fd());
  for (const int fd : descriptors) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ok = ok && epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  }
  if (!ok) return error(Code::exhausted, "no descriptors for the UCX thread");
  running_ = true;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "troupe-ucx");
  return {};
}

void ProgressThread::stop() {
  if (thread_.joinable()) {
    stop_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = write(command_fd_, &one, sizeof one);
    thread_.join();
  }
  for (int* fd : {&epoll_fd_, &command_fd_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

void ProgressThread::post(std::function<void()> command) {
  {
    const std::lock_guard lock(mutex_);
    if (running_) {
      commands_.push_back(std::move(command));
      // A full commands_ has already woken the thread, which looks there before it sleeps.
      if (commands_.size() > 1 || on_thread()) return;
      const uint64_t one = 1;
      [[maybe_unused]] const auto written = write(command_fd_, &one, sizeof one);
      return;
    }
  }
  command();
}

void ProgressThread::call(const std::function<void()>& command) {
  if (on_thread()) {
    command();
    return;
  }
  std::promise<void> done;
  post([&] {
    command();
    done.set_value();
  });
  done.get_future().wait();
}

bool ProgressThread::run_commands() {
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& command : commands) command();
  return !commands.empty();
}

bool ProgressThread::has_commands() {
  const std::lock_guard lock(mutex_);
  return !commands_.empty();
}

void ProgressThread::sleep(TimeUs deadline) {
  int timeout_ms = limits::sleep_ms_max;
  const TimeUs left_us = deadline - now_us();
  if (left_us < TimeUs{timeout_ms} * 1000) {
    timeout_ms = static_cast<int>(std::max<TimeUs>(0, (left_us + 999) / 1000));
  }
  epoll_event events[4];
  const int count = epoll_wait(epoll_fd_, events, 4, timeout_ms);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.fd != command_fd_) continue;
    uint64_t drained;
    [[maybe_unused]] const auto got = read(command_fd_, &drained, sizeof drained);
  }
}

void ProgressThread::run() {
  TimeUs last_active = now_us();
  while (!stop_) {
    bool active = false;
    for (UcxWorker* worker : workers_) active |= worker->progress();
    active |= run_commands();
    const TimeUs now = now_us();
    const Turn turn = turn_(now);
    if (active || turn.active) {
      last_active = now;
      continue;
    }
    if (now - last_active < limits::spin_us) continue;
    bool may_sleep = true;
    for (UcxWorker* worker : workers_) may_sleep &= worker->arm();
    if (may_sleep && !has_commands()) sleep(turn.deadline);
  }
  for (;;) {
    run_commands();
    turn_(now_us());
    const std::lock_guard lock(mutex_);
    if (!commands_.empty()) continue;
    running_ = false;
    return;
  }
}

}  // namespace troupe::transport
