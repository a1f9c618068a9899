// One generation under way: collects what its requests give, writes it as it comes or at the end,
// cancels when the peer goes away. Handlers come on the client's thread, the peer's end and the
// keep-alive on the server's.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gateway/service.hpp"

namespace troupe::gateway {

class Job : public std::enable_shared_from_this<Job> {
 public:
  Job(std::shared_ptr<Service> service, std::shared_ptr<Service::Call> call,
      std::unique_ptr<Shape> shape, bool stream, size_t prompts);

  void start(std::vector<actors::GenerateRequest> requests);

 private:
  void on_delta(size_t prompt, const actors::ClientDelta& delta);
  void on_end(size_t prompt, Result<actors::GenerateResult> result);
  void on_gone();
  void keep_alive();
  /// The rest holds the lock.
  void say(std::string bytes, TimeUs now);
  void fail(const ApiError& error);
  void finish();
  void close(const Usage& usage, int status);
  void cancel_all();

  std::shared_ptr<Service> service_;
  std::shared_ptr<Service::Call> call_;
  std::unique_ptr<Shape> shape_;
  StageTimes& stages_;
  bool stream_;
  std::mutex mutex_;
  std::vector<uint64_t> ids_;
  std::vector<actors::GenerateResult> results_;
  std::vector<char> has_begun_;
  Usage seen_;  ///< what is known of a generation that does not end
  size_t running_;
  bool has_head_ = false;
  bool is_over_ = false;
  TimeUs said_us_;
  TimeUs last_token_us_ = 0;
};

}  // namespace troupe::gateway
