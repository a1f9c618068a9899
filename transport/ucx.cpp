#include "transport/ucx.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

Error ucx_error(Code code, std::string_view what, ucs_status_t status) {
  return error(code, concat(what, ": UCX says \"", ucs_status_string(status), "\""));
}

Result<std::shared_ptr<UcxContext>> UcxContext::make(bool remote_reads) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (remote_reads) params.features |= UCP_FEATURE_RMA;
  ucp_context_h handle = nullptr;
  if (const ucs_status_t s = ucp_init(&params, nullptr, &handle); s != UCS_OK) {
    return ucx_error(Code::internal, "no UCX context could be made", s);
  }
  return std::make_shared<UcxContext>(handle);
}

Result<std::unique_ptr<UcxWorker>> UcxWorker::start(const Environment& environment,
                                                    bool remote_reads) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker());
  TROUPE_TRY(worker->open(environment, remote_reads));
  return worker;
}

Status UcxWorker::open(const Environment& environment, bool remote_reads) {
  // Contexts read their variables in ucp_init, interfaces theirs when the worker is made.
  const ScopedEnvironment scope(environment);
  TROUPE_ASSIGN(context_, UcxContext::make(remote_reads));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  if (const ucs_status_t s = ucp_worker_create(context_->handle(), &params, &worker_);
      s != UCS_OK) {
    worker_ = nullptr;
    return ucx_error(Code::internal, "no UCX worker could be made", s);
  }
  if (const ucs_status_t s = ucp_worker_get_efd(worker_, &event_fd_); s != UCS_OK) {
    return ucx_error(Code::internal, "the UCX worker has no event descriptor", s);
  }
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
  if (const ucs_status_t s = ucp_worker_query(worker_, &attributes); s != UCS_OK) {
    return ucx_error(Code::internal, "the UCX worker has no address", s);
  }
  address_.assign(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  if (address_.size() > limits::worker_address_bytes_max) {
    return error(Code::exhausted,
                 concat("a UCX worker address of ", address_.size(), " bytes is over the limit of ",
                        limits::worker_address_bytes_max));
  }
  return {};
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
}

Status UcxWorker::handle_messages(unsigned id, ActiveMessageHandler handler, void* self) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.cb = handler;
  params.arg = self;
  if (const ucs_status_t s = ucp_worker_set_am_recv_handler(worker_, &params); s != UCS_OK) {
    return ucx_error(Code::internal, "no active-message handler could be set", s);
  }
  return {};
}

Result<std::unique_ptr<Endpoint>> UcxWorker::connect(std::string_view address) {
  auto endpoint = std::make_unique<Endpoint>();
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.arg = endpoint.get();
  params.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
    auto& failed = *static_cast<Endpoint*>(self);
    failed.down = true;
    failed.why = status;
  };
  if (const ucs_status_t s = ucp_ep_create(worker_, &params, &endpoint->handle); s != UCS_OK) {
    return ucx_error(Code::unavailable, "no endpoint to the peer could be made", s);
  }
  return endpoint;
}

namespace {

/// Frees a request that has ended and clears the pointer; true if there is none left.
bool ended(void*& request) {
  if (!UCS_PTR_IS_PTR(request)) {
    request = nullptr;
    return true;
  }
  if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
  ucp_request_free(std::exchange(request, nullptr));
  return true;
}

}  // namespace

void UcxWorker::close(std::unique_ptr<Endpoint> endpoint, bool flush) {
  Closing closing;
  closing.endpoint = std::move(endpoint);
  if (flush && !closing.endpoint->down) {
    const ucp_request_param_t params{};
    closing.flush = ucp_ep_flush_nbx(closing.endpoint->handle, &params);
  }
  if (!drive(closing)) closing_.push_back(std::move(closing));
}

bool UcxWorker::drive(Closing& closing) {
  const bool flushed = ended(closing.flush);
  if (!closing.closed) {
    if (!flushed && !closing.endpoint->down) return false;
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    closing.close = ucp_ep_close_nbx(closing.endpoint->handle, &params);
    closing.closed = true;
  }
  const bool closed = ended(closing.close);
  return ended(closing.flush) && closed;
}

void UcxWorker::dispose(std::unique_ptr<UcxWorker> worker) {
  if (!worker) return;
  // A peer that had just asked for a connection gets its answer; ucp_worker_flush_nbx does not wait
  // for that.
  const TimeUs latest = now_us() + limits::quiet_us_max;
  TimeUs last_active = now_us();
  while (now_us() < latest && now_us() - last_active < limits::quiet_us) {
    if (worker->progress()) last_active = now_us();
  }
  if (!worker->closing()) return;
  log_warning("transport", "a peer does not take what is queued for it: its UCX worker stays");
  [[maybe_unused]] const UcxWorker* kept = worker.release();
}

bool UcxWorker::progress() {
  bool active = false;
  // Bounded, so that a stream of arrivals cannot keep the thread from its commands and deadlines.
  for (int i = 0; i < 64 && ucp_worker_progress(worker_) != 0; ++i) active = true;
  active |= std::erase_if(closing_, [this](Closing& closing) { return drive(closing); }) > 0;
  return active;
}

bool UcxWorker::arm() {
  const ucs_status_t s = ucp_worker_arm(worker_);
  if (s != UCS_OK && s != UCS_ERR_BUSY) {
    log_warning("transport", ucx_error(Code::internal, "arming failed", s).message());
  }
  return s == UCS_OK;
}

}  // namespace troupe::transport
