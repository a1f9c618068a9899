#include "actors/monitor.hpp"

#include "actors/monitor_actor.hpp"

namespace troupe::actors {

struct Monitor::Impl {
  std::unique_ptr<Runtime> runtime;
  MonitorActor handle;

  ~Impl() {
    if (handle) caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    handle = nullptr;
    runtime.reset();
  }
};

Monitor::Monitor() : impl_(std::make_unique<Impl>()) {}
Monitor::~Monitor() = default;

Result<std::unique_ptr<Monitor>> Monitor::attach(const ClientOptions& options, uint32_t interval_ms,
                                                 MonitorHandlers handlers) {
  if (options.tls.empty()) {
    return error(Code::failed_precondition, "a monitor needs a certificate of the cluster",
                 "troupe up makes one in its run directory");
  }
  std::unique_ptr<Monitor> monitor(new Monitor);
  TROUPE_ASSIGN(monitor->impl_->runtime, Runtime::start(options.tls));
  Runtime& runtime = *monitor->impl_->runtime;
  MonitorSetup setup;
  setup.caller = {options.cluster, options.name, runtime.incarnation(), {}};
  setup.directory_host = options.directory_host;
  setup.directory_port = options.directory_port;
  setup.interval_ms = interval_ms;
  setup.handlers = std::move(handlers);
  monitor->impl_->handle = runtime.system().spawn(monitor_actor, std::move(setup));
  return monitor;
}

}  // namespace troupe::actors
