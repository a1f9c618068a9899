#include "tests/sim/world.hpp"

#include <cinttypes>
#include <cstdio>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::sim {
namespace {

/// From the end of the faults until every request must have ended: longer than a client looks for
/// a placement.
constexpr TimeUs finish_us = 75 * second;

Events* current_events = nullptr;
Random* current_random = nullptr;

TimeUs virtual_now() {
  return current_events->now;
}

uint64_t virtual_random() {
  for (;;) {
    if (const uint64_t value = current_random->next(); value != 0) return value;
  }
}

}  // namespace

World::Config::Config() {
  add_message_types<caf::id_block::troupe>();
  set("scheduler.policy", caf::atom("testing"));
  set("logger.inline-output", true);
}

World::World(uint64_t seed, Random random, Plan plan, bool trace)
    : random_(random),
      plan_(std::move(plan)),
      system_(std::make_unique<caf::actor_system>(config_)),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler())),
      links_(events_, random_),
      reads_(events_, random_, links_),
      fabric_(*system_, events_, links_),
      stage_{*system_, events_, random_, links_, reads_, fabric_, plan_},
      trace_(trace) {
  report_.seed = seed;
  current_events = &events_;
  current_random = &random_;
  process_clock = &virtual_now;
  actors::replace_random(&virtual_random);
  set_memory_tokens(plan_.memory_tokens);
  set_windows(plan_.windows);
  links_.duplicates = plan_.duplicates;
  if (plan_.connections_stay) links_.hung_us = 60 * second;
  reads_.faults = {plan_.read_fail, plan_.read_wrong, plan_.read_silent, 0};
  set_log_level(trace ? LogLevel::debug : LogLevel::off);
  if (!trace) return;
  std::fputs(plan_.describe().c_str(), stderr);
  set_log_sink([this](std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find(' ') + 1));  // the time of day
    std::fprintf(stderr, "%10" PRId64 " %.*s\n", events_.now - 1'000 * second,
                 static_cast<int>(line.size()), line.data());
  });
  fabric_.trace = [this](LifeId from, LifeId to, const std::string& what) {
    std::fprintf(stderr, "%10" PRId64 " %s/%u -> %s/%u: %s\n", events_.now - 1'000 * second,
                 life(from)->plan.name.c_str(), from, life(to)->plan.name.c_str(), to,
                 what.c_str());
  };
}

World::~World() {
  process_clock = &steady_us;
  actors::replace_random(nullptr);
  set_log_sink({});
}

void World::fail(const std::string& what) {
  if (!failed()) report_.violation = concat("at ", events_.now - 1'000 * second, " us: ", what);
}

caf::resumable* World::take_job() {
  auto& jobs = scheduler_.jobs;
  if (jobs.empty()) return nullptr;
  const size_t start = random_.below(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const size_t at = (start + i) % jobs.size();
    auto* actor = dynamic_cast<caf::local_actor*>(jobs[at]);
    const LifeId home = actor == nullptr ? 0 : fabric_.home(actor->id());
    if (home != 0 && links_.process(home).paused) continue;
    if (actor != nullptr && hanging_.contains(actor->id())) continue;
    std::swap(jobs[at], jobs.front());
    return jobs.front();
  }
  return nullptr;
}

void World::advance_to(TimeUs due) {
  const TimeUs delta = std::max<TimeUs>(due - events_.now, 0);
  events_.now += delta;
  scheduler_.advance_time(std::chrono::microseconds(delta));
}

bool World::step() {
  ++report_.events;
  if (caf::resumable* job = take_job()) {
    auto* actor = dynamic_cast<caf::local_actor*>(job);
    const LifeId home = actor == nullptr ? 0 : fabric_.home(actor->id());
    const uint64_t id = actor == nullptr ? 0 : actor->id();
    report_.trace_hash =
        (report_.trace_hash ^ id ^ static_cast<uint64_t>(events_.now)) * 0x9e3779b97f4a7c15u;
    scheduler_.run_once();
    check_after(home);
    return true;
  }
  const auto& timers = scheduler_.clock().schedule();
  const auto now = scheduler_.clock().current_time;
  TimeUs timer_due = INT64_MAX;
  if (!timers.empty()) {
    const auto left = timers.begin()->first - now;
    timer_due = events_.now +
                (std::chrono::duration_cast<std::chrono::nanoseconds>(left).count() + 999) / 1000;
  }
  if (events_.empty() && timers.empty()) return false;
  if (!events_.empty() && events_.next_due() <= timer_due) {
    advance_to(events_.next_due());
    events_.run_next();
  } else {
    advance_to(timer_due);
  }
  return true;
}

void World::check_after(LifeId home) {
  if (!fabric_.violation.empty()) fail(fabric_.violation);
  check_timers();
  if (home == 0) return;
  const Life& one = *life(home);
  const std::string wrong = one.check();
  if (!wrong.empty()) fail(concat(one.plan.name, ": ", wrong));
  if (!one.plan.is_client()) return;
  for (const auto& request : requests_) {
    if (!request->watched.violation.empty()) {
      fail(concat("request ", request->id, ": ", request->watched.violation));
    }
  }
}

/// No wait without a timer: whoever sent a request over the wire must give up at some time.
void World::check_timers() {
  using Clock = caf::detail::simple_actor_clock;
  for (const SentRequest& sent : fabric_.sent_requests) {
    const auto range = scheduler_.clock().actor_lookup().equal_range(sent.sender->id());
    bool timed = false;
    for (auto it = range.first; it != range.second && !timed; ++it) {
      const auto& event = it->second->second;
      if (event->subtype != Clock::request_timeout_type) continue;
      const auto id = static_cast<const Clock::request_timeout&>(*event).id;
      timed = id == sent.id || id == sent.id.response_id();
    }
    if (!timed) fail(concat("a request without a time-out: ", sent.what));
  }
  fabric_.sent_requests.clear();
}

void World::start_request(Request& request) {
  Life* client = at(request.plan->client);
  if (client == nullptr) {
    request.abandoned = true;
    return;
  }
  request.started = true;
  request.started_us = events_.now;
  request.client = client->id;
  client->on_client([&request](actors::ClientCore& core) {
    actors::GenerateHandlers handlers;
    handlers.on_delta = [&request](const actors::ClientDelta& delta) {
      request.watched.on_delta(delta);
    };
    handlers.on_end = [&request](Result<actors::GenerateResult> result) {
      request.watched.on_end(result);
    };
    core.start(request.id, request.plan->request, std::move(handlers));
  });
}

void World::cancel_request(Request& request) {
  if (!request.started || request.abandoned || request.watched.ended()) return;
  request.cancelled = true;
  life(request.client)->on_client([id = request.id](actors::ClientCore& core) { core.cancel(id); });
}

bool World::all_ended() const {
  for (const auto& request : requests_) {
    if (!request->abandoned && !request->watched.ended()) return false;
  }
  return true;
}

std::string World::unfinished() const {
  std::string text;
  for (size_t i = 0; i < requests_.size(); ++i) {
    const Request& one = *requests_[i];
    if (one.abandoned || one.watched.ended()) continue;
    text += concat(text.empty() ? "" : ", ", "request ", i, " after ", one.watched.num_tokens(),
                   " tokens");
  }
  return text;
}

/// A new request may be refused when the cluster could not take it for 10 s, any when the client
/// has heard nothing of the directory for so long that the cluster is gone for it.
std::string World::wrong_failure(const Request& request) const {
  const Error& why = *request.watched.failure();
  const TimeUs waited = request.watched.ended_us() - request.started_us;
  const bool is_new = request.watched.num_tokens() == 0;
  const bool gone = why.what.find("the directory of cluster") != std::string::npos;
  const bool refused = is_new && waited >= actors::limits::wait_new_us;
  if (why.code == Code::unavailable && (gone || refused) && !plan_.faults.empty()) return {};
  return concat("a request failed after ", waited, " us and ", request.watched.num_tokens(),
                " tokens though nobody cancelled it: ", why.message());
}

void World::count() {
  for (const auto& request : requests_) {
    ++report_.requests;
    report_.attempts += request->watched.attempts();
    if (request->abandoned) {
      ++report_.abandoned;
    } else if (!request->watched.failure()) {
      ++report_.completed;
    } else if (request->cancelled && request->watched.failure()->code == Code::cancelled) {
      ++report_.cancelled;
    } else {
      ++report_.failed;
      const std::string wrong = wrong_failure(*request);
      if (!wrong.empty()) fail(wrong);
    }
  }
  for (const auto& request : requests_) {
    report_.accepted += request->watched.accepted();
    if (request->abandoned || request->watched.failure()) continue;
    report_.slowest_us =
        std::max(report_.slowest_us, request->watched.ended_us() - request->started_us);
  }
  for (const auto& one : lives_) {
    report_.fetched += one->metrics().value(v1::METRIC_FETCHED_BLOCKS);
    report_.from_disk += one->metrics().value(v1::METRIC_STORE_DISK_READ);
    report_.moved += one->metrics().value(v1::METRIC_CHOICES_MOVED);
  }
  report_.faults = static_cast<uint32_t>(plan_.faults.size());
  report_.messages = fabric_.messages;
  report_.reads = reads_.done;
  report_.reads_failed = reads_.failed;
  report_.virtual_us = events_.now - 1'000 * second;
}

RunReport World::run() {
  for (size_t slot = 0; slot < plan_.nodes.size(); ++slot)
    restart_later(slot, plan_.nodes[slot].start_us);
  for (const RequestPlan& planned : plan_.requests) {
    requests_.push_back(std::make_unique<Request>(
        Request{&planned, virtual_random(), 0, Watched(planned.request)}));
    Request& request = *requests_.back();
    events_.after(planned.at_us, [this, &request] { start_request(request); });
    if (planned.cancel_us != 0) {
      events_.after(planned.cancel_us, [this, &request] { cancel_request(request); });
    }
  }
  for (const FaultPlan& fault : plan_.faults) {
    events_.after(fault.at_us, [this, &fault] { inject(fault); });
  }
  if (plan_.silence_us != 0) watch_silence();
  TimeUs last = plan_.faults_end_us;
  for (const RequestPlan& planned : plan_.requests) last = std::max(last, planned.at_us);
  events_.after(last, [this] { end_faults(); });

  run_until(INT64_MAX, [this] { return calm_; });
  if (!run_until(events_.now + finish_us, [this] { return all_ended(); })) {
    fail(concat("not finished ", finish_us / second, " s after the last fault: ", unfinished()));
  }
  settle();
  count();
  if (!failed()) close();
  return report_;
}

void World::close() {
  for (auto& one : lives_) {
    if (!one->dead) end_life(*one, true);
  }
  events_.clear();
  fabric_.clear();
  scheduler_.clock().cancel_all();
  while (scheduler_.has_job()) scheduler_.run_once();
}

namespace {

RunReport run_plan(uint64_t seed, const Random& random, Plan plan, bool trace) {
  // After a violation the actors can't be told to go in an orderly way: they stay.
  auto* world = new World(seed, random, std::move(plan), trace);
  RunReport report = world->run();
  if (report.violation.empty()) delete world;
  return report;
}

}  // namespace

RunReport run_seed(uint64_t seed, bool trace) {
  Random random(seed);
  Plan plan = make_plan(random);
  return run_plan(seed, random, std::move(plan), trace);
}

RunReport run_silence(uint64_t seed, bool stand_still, bool trace) {
  Random random(seed);
  Plan plan = make_silence(random, stand_still ? FaultKind::pause : FaultKind::one_way);
  return run_plan(seed, random, std::move(plan), trace);
}

RunReport run_standing(uint64_t seed, bool whole_process, bool trace) {
  Random random(seed);
  Plan plan = make_standing(random, whole_process ? FaultKind::pause : FaultKind::hang);
  return run_plan(seed, random, std::move(plan), trace);
}

}  // namespace troupe::sim
