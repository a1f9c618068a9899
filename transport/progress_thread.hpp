// The one thread that touches UCX: drives the workers, runs what other threads post, does the
// engine's work, and sleeps on the workers' event descriptors when there is nothing to do.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "transport/ucx.hpp"

namespace troupe::transport {

class ProgressThread {
 public:
  /// What one turn of the engine's own work left behind.
  struct Turn {
    bool active = false;          ///< there is more to do now
    TimeUs deadline = INT64_MAX;  ///< be called again by then
  };

  ProgressThread() = default;
  ~ProgressThread() { stop(); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// `workers` must outlive stop(). `turn(now)` is called after each round of progress.
  Status start(std::vector<UcxWorker*> workers, std::function<Turn(TimeUs now)> turn);
  /// Runs what is already posted, then ends the thread. Posting later runs inline.
  void stop();

  /// Runs `command` on the thread, in order. Any thread.
  void post(std::function<void()> command);
  /// Runs `command` on the thread and waits for it.
  void call(const std::function<void()>& command);
  [[nodiscard]] bool on_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  void run();
  bool run_commands();
  bool has_commands();
  void sleep(TimeUs deadline);

  std::vector<UcxWorker*> workers_;
  std::function<Turn(TimeUs)> turn_;
  int epoll_fd_ = -1;
  int command_fd_ = -1;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  bool running_ = false;
  std::vector<std::function<void()>> commands_;
  std::thread thread_;
};

}  // namespace troupe::transport
