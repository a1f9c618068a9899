// After the last request: nothing runs, everything is given back, everybody knows what is.
#include <set>

#include "base/concat.hpp"
#include "tests/sim/world.hpp"

namespace troupe::sim {
namespace {

/// From the last request until nothing may run and every block must be back: longer than it takes
/// to notice a silent death, and longer than leases; at once where nothing went wrong.
constexpr TimeUs idle_us = 13 * second;
constexpr TimeUs settle_us = 40 * second;
constexpr TimeUs without_faults_us = second;

}  // namespace

void World::settle() {
  const bool quiet = plan_.faults.empty() && plan_.read_fail == 0;
  TimeUs next_look = 0;
  const auto soon = [this, &next_look] {
    if (events_.now < next_look) return false;
    next_look = events_.now + 50 * ms;
    return true;
  };
  const TimeUs ended_us = events_.now;
  if (!run_until(ended_us + (quiet ? without_faults_us : idle_us),
                 [this, &soon] { return soon() && still_running().empty(); })) {
    fail(concat("still running ", (events_.now - ended_us) / ms,
                " ms after the last request: ", still_running()));
  }
  if (!run_until(ended_us + (quiet ? without_faults_us : settle_us),
                 [this, &soon] { return soon() && left_over().empty(); })) {
    fail(concat("not given back ", (events_.now - ended_us) / ms,
                " ms after the last request: ", left_over()));
  }
}

std::string World::still_running() const {
  for (const auto& one : lives_) {
    std::string running = one->still_running();
    if (!running.empty()) return running;
  }
  return {};
}

/// What a router should know of one life, or how it differs.
std::string World::differs(actors::RouterState& state, const Life& one, size_t& blocks) {
  uint64_t number = 0;
  if (one.worker) {
    blocks += one.worker->index->size();
    number = one.worker->events->last_number();
  } else if (actors::StoreCore* core = one.store()) {
    std::set<kv::BlockName> names;
    for (const kv::Residence& residence : core->logic().residences()) names.insert(residence.name);
    blocks += names.size();
    number = core->logic().events().last_number();
  } else {
    return {};
  }
  const auto last = state.placement.index().last_number(one.plan.name);
  if (last.value_or(0) == number) return {};
  return concat("the router has event ", last.value_or(0), " of ", one.plan.name, ", not ", number);
}

/// Each router knows of every worker's and store's blocks, once the last events have come.
std::string World::inexact_router() const {
  for (const auto& router : lives_) {
    actors::RouterState* state = router->dead ? nullptr : router->router();
    if (state == nullptr) continue;
    size_t blocks = 0;
    for (const auto& one : lives_) {
      if (one->dead) continue;
      std::string wrong = differs(*state, *one, blocks);
      if (!wrong.empty()) return wrong;
    }
    if (state->placement.index().num_residences() != blocks) {
      return concat("the router knows ", state->placement.index().num_residences(),
                    " blocks of workers and stores that have ", blocks);
    }
  }
  return {};
}

/// A monitor knows what each process counted, once the last changes have come.
std::string World::inexact_monitor() const {
  constexpr v1::Metric rest_when_idle[] = {
      v1::METRIC_PREPARED_REQUESTS, v1::METRIC_PLACEMENTS,       v1::METRIC_BOOKINGS,
      v1::METRIC_CHOICES_STARTED,   v1::METRIC_CHOICES_FINISHED, v1::METRIC_CHOICES_CANCELLED,
      v1::METRIC_CHOICES_FAILED,    v1::METRIC_CHOICES_MOVED,    v1::METRIC_PREFILLS_DONE,
      v1::METRIC_STORE_STORED,      v1::METRIC_STORE_HITS,       v1::METRIC_DRAFT_LESSONS};
  for (const auto& monitor : lives_) {
    if (monitor->dead || !monitor->plan.is_monitor()) continue;
    for (const auto& one : lives_) {
      if (one->dead || one->plan.is_client() || one->plan.is_monitor()) continue;
      const auto seen = monitor->watched().find(one->incarnation());
      if (seen == monitor->watched().end()) {
        return concat("the monitor never heard of ", one->plan.name);
      }
      for (const v1::Metric metric : rest_when_idle) {
        if (seen->second.value(metric) == one->metrics().value(metric)) continue;
        return concat("the monitor has ", seen->second.value(metric), " as metric ",
                      static_cast<int>(metric), " of ", one->plan.name, ", not ",
                      one->metrics().value(metric));
      }
    }
  }
  return {};
}

std::string World::left_over() const {
  for (const auto& one : lives_) {
    std::string left = one->left_over();
    if (!left.empty()) return left;
    if (one->dead) continue;
    const actors::RouterState* router = one->router();
    if (router != nullptr && router->placement.num_bookings() != 0) {
      return concat("the router has ", router->placement.num_bookings(), " bookings");
    }
  }
  std::string wrong = inexact_router();
  return wrong.empty() ? inexact_monitor() : wrong;
}

}  // namespace troupe::sim
