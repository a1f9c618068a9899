// The part of Placement that knows stores: who has what, and when reading beats computing.
#include <algorithm>
#include <cmath>

#include "actors/limits.hpp"
#include "actors/placement.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

// Asking the store, its answer and the first page: a round trip of control messages on one host.
constexpr double fetch_start_us = 2000;

}  // namespace

Status Placement::on_store(const StoreInfo& info, TimeUs now) {
  if (info.id.empty() || !std::isfinite(info.transfer_bytes_per_us) ||
      info.transfer_bytes_per_us <= 0) {
    return error(Code::invalid_argument,
                 concat("store '", info.id, "' presented itself without a usable profile"),
                 "a name and a finite positive bandwidth are needed");
  }
  if (!index_.begin(info.id, info.incarnation)) {
    return error(Code::exhausted,
                 concat("store '", info.id, "' is one more than the ", kv::limits::workers_max,
                        " that one router can follow"),
                 "use several routers");
  }
  stores_[info.id] = {info, now};
  return {};
}

void Placement::on_store_heard(const std::string& id, uint64_t incarnation, TimeUs now) {
  const auto found = stores_.find(id);
  if (found != stores_.end() && found->second.info.incarnation == incarnation) {
    found->second.heard = now;
  }
}

void Placement::on_store_gone(const std::string& id, uint64_t incarnation) {
  const auto found = stores_.find(id);
  if (found == stores_.end() || found->second.info.incarnation != incarnation) return;
  stores_.erase(found);
  index_.remove_worker(id);
}

Placement::Holdings Placement::holdings_of(const PlaceRequest& request, TimeUs now) const {
  Holdings holdings;
  for (const auto& [id, store] : stores_) {
    if (now - store.heard > limits::store_silence_us) continue;
    holdings.push_back({&store, index_.held(id, request.names)});
  }
  return holdings;
}

Placement::Fetch Placement::best_fetch(const Worker& worker, const PlaceRequest& request,
                                       uint32_t matched, const Holdings& holdings) const {
  const WorkerInfo& info = worker.info;
  Fetch best;
  double best_saved_us = 0;
  for (const Holding& holding : holdings) {
    const auto first = holding.held.begin() + matched;
    const auto run = std::find(first, holding.held.end(), false) - first;
    if (run <= 0) continue;
    const auto end = matched + static_cast<uint32_t>(run);
    const double rate = worker.fetch_bytes_per_us > 0
                            ? worker.fetch_bytes_per_us
                            : std::min(info.profile.transfer_bytes_per_us,
                                       holding.store->info.transfer_bytes_per_us);
    const double us =
        fetch_start_us + static_cast<double>(run) * static_cast<double>(info.block_bytes) / rate;
    const TokenRange spared{matched * request.tokens_per_block, end * request.tokens_per_block};
    const double saved_us = work_us(info.profile, spared) - us;
    if (saved_us <= best_saved_us) continue;
    best_saved_us = saved_us;
    best = {holding.store->info.id, end, us};
  }
  return best;
}

}  // namespace troupe::actors
