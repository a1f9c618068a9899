#include "gateway/job.hpp"

#include "gateway/limits.hpp"

namespace troupe::gateway {

Job::Job(std::shared_ptr<Service> service, std::shared_ptr<Service::Call> call,
         std::unique_ptr<Shape> shape, bool stream, size_t prompts)
    : service_(std::move(service)),
      call_(std::move(call)),
      shape_(std::move(shape)),
      stages_(service_->counts_.stages(call_->tenant, name(call_->target.route))),
      stream_(stream),
      results_(prompts),
      has_begun_(prompts),
      running_(prompts),
      said_us_(now_us()) {}

void Job::start(std::vector<actors::GenerateRequest> requests) {
  service_->counts_.begin();
  const auto self = shared_from_this();
  for (size_t i = 0; i < requests.size(); ++i) {
    actors::GenerateHandlers handlers;
    handlers.on_delta = [self, i](const actors::ClientDelta& delta) { self->on_delta(i, delta); };
    handlers.on_end = [self, i](Result<actors::GenerateResult> result) {
      self->on_end(i, std::move(result));
    };
    const uint64_t id = service_->cast_.generate(std::move(requests[i]), std::move(handlers));
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
    // The first answer may come before this function ends, and be a failure.
    if (is_over_) service_->cast_.cancel(id);
  }
  call_->exchange->on_gone([self] { self->on_gone(); });
  if (stream_) keep_alive();
}

void Job::say(std::string bytes, TimeUs now) {
  if (bytes.empty()) return;
  if (!std::exchange(has_head_, true)) {
    HttpReply head;
    head.content_type = "text/event-stream; charset=utf-8";
    head.headers = call_->headers;
    head.headers.emplace_back("cache-control", "no-cache");
    head.headers.emplace_back("x-accel-buffering", "no");
    call_->exchange->begin(std::move(head));
  }
  said_us_ = now;
  call_->exchange->write(std::move(bytes));
}

void Job::on_delta(size_t prompt, const actors::ClientDelta& delta) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const TimeUs now = now_us();
  if (std::exchange(has_begun_[prompt], char{1}) == 0) seen_.prompt_tokens += delta.prompt_tokens;
  seen_.output_tokens += delta.tokens.size();
  if (!delta.tokens.empty()) {
    const TimeUs since_us = last_token_us_ == 0 ? call_->began_us : last_token_us_;
    service_->counts_.add(last_token_us_ == 0 ? stages_.ttft : stages_.itl,
                          static_cast<double>(now - since_us) / 1e6);
    last_token_us_ = now;
  }
  if (stream_) say(shape_->on_delta(prompt, delta), now);
}

void Job::on_end(size_t prompt, Result<actors::GenerateResult> result) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  if (!result) {
    fail(to_api(result.error(), prompt_field(call_->target.route)));
    return;
  }
  results_[prompt] = std::move(result).value();
  if (--running_ == 0) finish();
}

void Job::fail(const ApiError& error) {
  cancel_all();
  if (has_head_) {
    call_->exchange->write(shape_->on_error(error));
    call_->exchange->end();
  } else {
    HttpReply reply = reply_of(error, call_->dialect);
    reply.headers.insert(reply.headers.end(), call_->headers.begin(), call_->headers.end());
    call_->exchange->reply(std::move(reply));
  }
  close(seen_, error.status);
}

void Job::finish() {
  const Usage usage = usage_of(results_);
  for (const actors::GenerateResult& result : results_) service_->counts_.ended(stages_, result);
  if (stream_) {
    say(shape_->on_end(results_), now_us());
    call_->exchange->end();
  } else {
    HttpReply reply;
    reply.headers = call_->headers;
    reply.body = shape_->whole(results_);
    call_->exchange->reply(std::move(reply));
  }
  close(usage, 200);
}

void Job::close(const Usage& usage, int status) {
  is_over_ = true;
  const TimeUs now = now_us();
  service_->counts_.end();
  service_->counts_.usage(call_->tenant, usage);
  service_->counts_.reply(name(call_->target.route), status,
                          static_cast<double>(now - call_->began_us) / 1e6);
  service_->tenants_.end(call_->tenant, usage.prompt_tokens + usage.output_tokens, now);
}

void Job::cancel_all() {
  for (const uint64_t id : ids_) service_->cast_.cancel(id);
}

void Job::on_gone() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  cancel_all();
  service_->counts_.cancelled();
  close(seen_, 499);
}

void Job::keep_alive() {
  service_->cast_.later(limits::keep_alive_s * 1000, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->is_over_) return;
      const TimeUs now = now_us();
      if (now - self->said_us_ >= TimeUs{1'000'000} * limits::keep_alive_s) {
        self->say(self->shape_->keep_alive(), now);
      }
    }
    self->keep_alive();
  });
}

}  // namespace troupe::gateway
