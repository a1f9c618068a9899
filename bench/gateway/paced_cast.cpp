#include "bench/gateway/paced_cast.hpp"

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/clock.hpp"
#include "bench/cpu_time.hpp"

namespace troupe::bench {
namespace {

constexpr std::array<const char*, 8> words = {" the", " river", " flows", " to",
                                              " sea", ",",      " and",   " back"};

std::shared_ptr<const actors::ModelCard> make_card() {
  auto card = std::make_shared<actors::ModelCard>();
  card->name = "m";
  card->context_max = 262'144;
  card->output_tokens_max = 16'384;
  card->has_chat_template = true;
  for (const char* word : words) card->token_bytes.emplace_back(word);
  card->vocab_size = words.size();
  card->is_control.resize(words.size());
  return card;
}

/// Requests under way; one thread steps them.
class Speaker {
 public:
  explicit Speaker(int64_t step_us) : step_us_(step_us) {
    if (step_us_ > 0) thread_ = std::thread([this] { run(); });
  }
  ~Speaker() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    signal_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

  uint64_t start(const actors::GenerateRequest& request, actors::GenerateHandlers handlers) {
    auto told = std::make_shared<Speech>();
    told->left = request.sampling.max_tokens;
    told->handlers = std::move(handlers);
    told->result.prompt_tokens = 20;
    told->result.choices.resize(1);
    if (step_us_ == 0) {
      while (!say(*told)) {
      }
      return 0;
    }
    const std::lock_guard lock(mutex_);
    speeches_.emplace(++last_id_, std::move(told));
    return last_id_;
  }

  void cancel(uint64_t id) {
    const std::lock_guard lock(mutex_);
    speeches_.erase(id);
  }

 private:
  struct Speech {
    uint32_t said = 0, left = 0;
    actors::GenerateHandlers handlers;
    actors::GenerateResult result;
  };

  /// One token; true after the last one.
  static bool say(Speech& speech) {
    actors::ClientDelta delta;
    const auto token = static_cast<int32_t>(speech.said++ % words.size());
    delta.tokens = {token};
    delta.logprobs = {-0.5f};
    delta.text = words[static_cast<size_t>(token)];
    delta.prompt_tokens = 20;
    const bool is_last = --speech.left == 0;
    if (is_last) delta.finish_reason = "length";
    actors::ChoiceResult& choice = speech.result.choices[0];
    choice.text += delta.text;
    choice.token_ids.push_back(token);
    speech.handlers.on_delta(delta);
    if (!is_last) return false;
    choice.finish_reason = "length";
    speech.handlers.on_end(std::move(speech.result));
    return true;
  }

  void run() {
    TimeUs next = now_us();
    std::unique_lock lock(mutex_);
    while (!stops_) {
      next = std::max(next + step_us_, now_us());
      while (!stops_ && now_us() < next) {
        signal_.wait_for(lock, std::chrono::microseconds(next - now_us()));
      }
      const auto now = speeches_;
      lock.unlock();
      std::vector<uint64_t> over;
      for (const auto& [id, speech] : now) {
        if (say(*speech)) over.push_back(id);
      }
      lock.lock();
      for (const uint64_t id : over) speeches_.erase(id);
    }
  }

  const int64_t step_us_;
  std::mutex mutex_;
  std::condition_variable signal_;
  std::unordered_map<uint64_t, std::shared_ptr<Speech>> speeches_;
  uint64_t last_id_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace

struct PacedGateway::Impl {
  explicit Impl(int64_t step_us) : speaker(step_us) {}

  Speaker speaker;
  std::shared_ptr<gateway::Service> service;
  std::unique_ptr<gateway::HttpServer> server;
};

PacedGateway::PacedGateway(int64_t step_us) : impl_(std::make_unique<Impl>(step_us)) {
  gateway::Cast cast;
  Impl* impl = impl_.get();
  cast.generate = [impl](const actors::GenerateRequest& request,
                         actors::GenerateHandlers handlers) {
    return impl->speaker.start(request, std::move(handlers));
  };
  cast.cancel = [impl](uint64_t id) { impl->speaker.cancel(id); };
  cast.card = [card = make_card()] { return card; };
  cast.unready = [] { return std::string(); };
  cast.metrics = [](gateway::MetricFamilies&) {};
  cast.later = [impl](int ms, std::function<void()> run) {
    impl->server->later(ms, std::move(run));
  };
  impl->service = std::make_shared<gateway::Service>(gateway::AccessRules{}, std::move(cast));
  auto started = gateway::HttpServer::start({}, gateway::handler_of(impl->service));
  if (!started) {
    std::fprintf(stderr, "bench_gateway: %s\n", started.error().message().c_str());
    std::exit(1);
  }
  impl->server = std::move(*started);
}

PacedGateway::~PacedGateway() {
  impl_->server.reset();
}

uint16_t PacedGateway::port() const {
  return impl_->server->port();
}

uint64_t PacedGateway::sends() const {
  return impl_->server->counts().sends;
}

double PacedGateway::source_us(size_t streams, uint32_t tokens) {
  actors::GenerateRequest request;
  request.sampling.max_tokens = tokens;
  std::vector<std::promise<void>> ends(streams);
  const double before = process_cpu_s();
  for (std::promise<void>& end : ends) {
    actors::GenerateHandlers nobody;
    nobody.on_delta = [](const actors::ClientDelta&) {};
    nobody.on_end = [&end](const Result<actors::GenerateResult>&) { end.set_value(); };
    impl_->speaker.start(request, std::move(nobody));
  }
  for (std::promise<void>& end : ends) end.get_future().wait();
  return (process_cpu_s() - before) * 1e6 / (static_cast<double>(streams) * tokens);
}

}  // namespace troupe::bench
