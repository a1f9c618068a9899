// The part of Placement that knows stores, and when reading blocks beats computing them.
#include <algorithm>
#include <cmath>

#include "actors/limits.hpp"
#include "actors/placement.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

// Asking who has them, the answer and the first page: a round trip of control messages on one host.
constexpr double fetch_start_us = 2000;
// A disk that was not read from yet: slower than most, so that what it is used for pays.
constexpr double unknown_disk_bytes_per_us = 500;
constexpr uint8_t disk_alone = 1 << static_cast<uint8_t>(kv::Tier::disk);

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
  stores_[info.id] = {info, now, 0};
  return {};
}

void Placement::on_store_heard(const std::string& id, uint64_t incarnation, TimeUs now,
                               double disk_bytes_per_us) {
  const auto found = stores_.find(id);
  if (found == stores_.end() || found->second.info.incarnation != incarnation) return;
  found->second.heard = now;
  const bool is_plausible = std::isfinite(disk_bytes_per_us) && disk_bytes_per_us > 0;
  found->second.disk_bytes_per_us = is_plausible ? disk_bytes_per_us : 0;
}

void Placement::on_store_gone(const std::string& id, uint64_t incarnation) {
  const auto found = stores_.find(id);
  if (found == stores_.end() || found->second.info.incarnation != incarnation) return;
  stores_.erase(found);
  index_.remove_worker(id);
}

Placement::Holdings Placement::holdings_of(const PlaceRequest& request, const Matches& matches,
                                           TimeUs now) const {
  Holdings holdings;
  for (const auto& [id, store] : stores_) {
    if (now - store.heard > limits::store_silence_us) continue;
    holdings.push_back({id, store.info.transfer_bytes_per_us, store.disk_bytes_per_us,
                        index_.tiers(id, request.names)});
  }
  for (const auto& [id, worker] : workers_) {
    const bool is_excluded = std::ranges::count(request.exclude, worker.info.incarnation) > 0;
    if (!matches.contains(id) || !worker.gives || is_excluded) continue;
    holdings.push_back(
        {id, worker.info.profile.transfer_bytes_per_us, 0, index_.tiers(id, request.names)});
  }
  return holdings;
}

double Placement::reading_us(const Worker& worker, const Holding& holding, ptrdiff_t blocks,
                             ptrdiff_t on_disk) {
  const double rate =
      worker.fetch_bytes_per_us > 0
          ? worker.fetch_bytes_per_us
          : std::min(worker.info.profile.transfer_bytes_per_us, holding.transfer_bytes_per_us);
  const double disk_rate =
      holding.disk_bytes_per_us > 0 ? holding.disk_bytes_per_us : unknown_disk_bytes_per_us;
  const auto block_bytes = static_cast<double>(worker.info.block_bytes);
  return fetch_start_us + static_cast<double>(blocks) * block_bytes / rate +
         static_cast<double>(on_disk) * block_bytes / disk_rate;
}

Placement::Fetch Placement::best_fetch(const Worker& worker, const PlaceRequest& request,
                                       uint32_t matched, const Holdings& holdings) const {
  const WorkerInfo& info = worker.info;
  Fetch best;
  double best_saved_us = 0;
  for (const Holding& holding : holdings) {
    const auto first = holding.tiers.begin() + matched;
    const auto end = std::find(first, holding.tiers.end(), 0);
    const auto in_memory = std::find(first, end, disk_alone) - first;
    // All of it, or what need not be read from disk.
    for (const auto run : {end - first, in_memory}) {
      if (run <= 0) continue;
      const auto on_disk = std::count(first, first + run, disk_alone);
      const auto last = matched + static_cast<uint32_t>(run);
      const double us = reading_us(worker, holding, run, on_disk);
      const TokenRange spared{matched * request.tokens_per_block, last * request.tokens_per_block};
      const double saved_us = work_us(info.profile, spared) - us;
      if (saved_us <= best_saved_us) continue;
      best_saved_us = saved_us;
      best = {holding.id, last, us};
    }
  }
  return best;
}

}  // namespace troupe::actors
