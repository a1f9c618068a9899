// Thin owners of UCX objects. Internal to this folder; everything here is used by the UCX thread
// alone, except making and destroying it.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "transport/environment.hpp"

namespace troupe::transport {

/// An Error that names what was tried and UCX's own word for what happened.
Error ucx_error(Code code, std::string_view what, ucs_status_t status);

/// A ucp context. Memory mapped in it keeps it alive: UCX aborts if a context goes first.
class UcxContext {
 public:
  /// `remote_reads`: with get. Without it UCX installs no handler of remote memory access at all.
  static Result<std::shared_ptr<UcxContext>> make(bool remote_reads);
  explicit UcxContext(ucp_context_h handle) : handle_(handle) {}
  ~UcxContext() { ucp_cleanup(handle_); }
  UcxContext(const UcxContext&) = delete;
  UcxContext& operator=(const UcxContext&) = delete;

  [[nodiscard]] ucp_context_h handle() const { return handle_; }

 private:
  ucp_context_h handle_;
};

/// One endpoint in peer-error mode. Close it through UcxWorker::close.
struct Endpoint {
  ucp_ep_h handle = nullptr;
  bool down = false;  ///< UCX reported a failure; still has to be closed
  ucs_status_t why = UCS_OK;
};

using ActiveMessageHandler = ucs_status_t (*)(void* self, const void* header, size_t header_bytes,
                                              void* data, size_t data_bytes,
                                              const ucp_am_recv_param_t* param);

class UcxWorker {
 public:
  /// Makes a context and a worker under `environment`.
  static Result<std::unique_ptr<UcxWorker>> start(const Environment& environment,
                                                  bool remote_reads);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;
  /// Destroys a worker once it has been quiet for limits::quiet_us, for the same reason. One with
  /// endpoints that do not close is left alone for ever.
  static void dispose(std::unique_ptr<UcxWorker> worker);

  [[nodiscard]] ucp_worker_h handle() const { return worker_; }
  [[nodiscard]] const std::shared_ptr<UcxContext>& context() const { return context_; }
  /// What peers need to make an endpoint to this worker.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int event_fd() const { return event_fd_; }

  Status handle_messages(unsigned id, ActiveMessageHandler handler, void* self);
  Result<std::unique_ptr<Endpoint>> connect(std::string_view address);
  /// Forced close; requests of the endpoint then end with errors. With `flush` not before what is
  /// queued has gone out or the endpoint is down: UCX 1.13 aborts the process when it has to throw
  /// away a queued reply to a peer that connects.
  void close(std::unique_ptr<Endpoint> endpoint, bool flush);

  /// Drives everything that is ready. True if something happened.
  bool progress();
  /// True if it is safe to sleep on event_fd().
  bool arm();
  [[nodiscard]] bool closing() const { return !closing_.empty(); }

 private:
  struct Closing {
    std::unique_ptr<Endpoint> endpoint;
    void* flush = nullptr;
    void* close = nullptr;
    bool closed = false;
  };

  bool drive(Closing& closing);
  UcxWorker() = default;
  Status open(const Environment& environment, bool remote_reads);

  std::shared_ptr<UcxContext> context_;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
  std::vector<Closing> closing_;
};

}  // namespace troupe::transport
