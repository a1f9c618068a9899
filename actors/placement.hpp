// What a router decides, without an actor in sight: which decode worker takes a request and whether
// a prefill worker computes its prompt, in predicted microseconds. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/placement_cost.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kv/cluster_index.hpp"

namespace troupe::actors {

enum class WorkerRole : uint8_t { prefill, decode, both };
const char* name(WorkerRole role);

struct WorkerInfo {
  std::string id;
  uint64_t incarnation = 0;
  WorkerRole role = WorkerRole::both;
  /// What its blocks are interchangeable with; a request goes only to workers with its own.
  std::string kv_fingerprint;
  DeviceProfile profile;
  uint64_t block_bytes = 0;
  uint32_t blocks_free = 0;
  uint32_t blocks_total = 0;
  uint32_t sequence_blocks_max = 0;  ///< blocks of the longest sequence that fits
};

/// A process that keeps blocks and computes nothing.
struct StoreInfo {
  std::string id;
  uint64_t incarnation = 0;
  double transfer_bytes_per_us = 0;  ///< what it could copy when it started
};

struct PlacementOptions {
  /// A prefill worker is used when at least so many full blocks are not cached on the decode
  /// worker: what a prefill worker computes does not hold up other sequences.
  uint32_t prefill_blocks_min = 1;
  /// The price of capacity, in multiples of the request's own uncached work.
  double capacity_price = 3.0;
  /// A booking that nobody mentioned for this long is dropped.
  TimeUs booking_timeout_us = 15 * 60 * TimeUs{1'000'000};
};

struct PlaceRequest {
  std::vector<kv::BlockName> names;  ///< of the full blocks of the tokens
  uint32_t num_tokens = 0;           ///< prompt and what was generated before a new attempt
  uint32_t max_tokens = 0;           ///< output at most
  uint32_t choices = 1;
  uint32_t tokens_per_block = 64;
  std::string kv_fingerprint;     ///< empty: any
  std::vector<uint64_t> exclude;  ///< incarnations that must not be chosen
  bool force_split = false;       ///< fail rather than compute on the decode worker
};

/// How one worker would do, or why it can't.
struct Candidate {
  std::string worker;
  bool is_prefill = false;
  bool chosen = false;
  std::string refused;  ///< empty, or the reason
  uint32_t matched_blocks = 0;
  std::array<uint32_t, kv::num_tiers> matched_by_tier{};
  double queue_us = 0;    ///< work booked before this request
  double prefill_us = 0;  ///< tokens of this request computed here
  double fetch_us = 0;    ///< blocks of this request read from somebody who has them
  double price_us = 0;    ///< capacity and slower steps, charged but not waited for
  /// The worker or store that it would read from, up to which block; empty: it computes what it
  /// lacks.
  std::string fetch_source;
  uint32_t fetch_end = 0;

  [[nodiscard]] double predicted_us() const { return queue_us + prefill_us + fetch_us; }
  [[nodiscard]] double score_us() const { return predicted_us() + price_us; }
};

struct Decision {
  std::string decode_worker;
  uint64_t decode_incarnation = 0;
  std::optional<std::string> prefill_worker;
  uint64_t prefill_incarnation = 0;
  /// Who computes the prompt reads the first fetch_blocks blocks, less what it has, from here.
  std::optional<std::string> fetch_source;
  uint32_t fetch_blocks = 0;
  uint64_t booking = 0;
  double predicted_us = 0;     ///< until the first token
  uint32_t prompt_blocks = 0;  ///< full blocks of the prompt
  std::vector<Candidate> candidates;
};

/// For --explain: the decision, each candidate with its blocks, costs and why it was chosen or not,
/// and what the costs mean.
std::string explain(const Decision& decision);

class Placement {
 public:
  explicit Placement(PlacementOptions options = {}) : options_(options) {}

  /// Registers a worker or a new incarnation of it, which starts without blocks and bookings.
  /// Errors: invalid_argument (no name, numbers that are not finite and positive), exhausted.
  Status on_worker(const WorkerInfo& info);
  /// Forgets a worker with its blocks and bookings, if it is still this incarnation.
  void on_worker_gone(const std::string& id, uint64_t incarnation);
  /// The worker's own count, which holds everything booked up to now, and how fast it reads from
  /// stores (0: it has not yet).
  void on_load(const std::string& id, uint64_t incarnation, uint32_t blocks_free,
               double fetch_bytes_per_us = 0);

  /// Registers a store or a new incarnation of it, which starts without blocks. Errors as above.
  Status on_store(const StoreInfo& info, TimeUs now);
  /// It reported, also how fast its disk is (0: it does not know yet): only stores that were heard
  /// lately are read from.
  void on_store_heard(const std::string& id, uint64_t incarnation, TimeUs now,
                      double disk_bytes_per_us = 0);
  void on_store_gone(const std::string& id, uint64_t incarnation);

  /// Why the worker gets no new requests for now; empty: it does. It may still give its blocks.
  void set_unfit(const std::string& id, std::string why, bool gives = false);

  /// Chooses and books. Errors: unavailable (no worker of a role that is needed: says which),
  /// exhausted (longer than any worker's memory), invalid_argument.
  Result<Decision> place(const PlaceRequest& request, TimeUs now);

  /// The first `prefilled` tokens of the booking's prompt are computed.
  void progress(uint64_t booking, uint32_t prefilled, TimeUs now);
  /// The request ended, however it did. Unknown bookings are no error: they may have expired.
  void finish(uint64_t booking);
  /// Drops bookings that nobody mentioned for too long; says which.
  std::vector<uint64_t> expire(TimeUs now);

  /// Where the router takes in the workers' KV events.
  [[nodiscard]] kv::ClusterIndex& index() { return index_; }
  [[nodiscard]] size_t num_bookings() const { return bookings_.size(); }
  [[nodiscard]] size_t num_workers() const { return workers_.size(); }
  /// Work booked on a worker and not yet done.
  [[nodiscard]] double queued_us(const std::string& id) const;

 private:
  struct Worker {
    WorkerInfo info;
    std::string unfit;
    bool gives = true;  ///< others may read its blocks
    double queued_us = 0;
    uint32_t running = 0;        ///< sequences booked for decoding
    uint64_t blocks_booked = 0;  ///< since the last load report
    double fetch_bytes_per_us = 0;
  };
  struct Store {
    StoreInfo info;
    TimeUs heard = 0;
    double disk_bytes_per_us = 0;
  };
  /// What a store or a worker could give to one request.
  struct Holding {
    std::string id;
    double transfer_bytes_per_us = 0;
    double disk_bytes_per_us = 0;  ///< 0: not known
    std::vector<uint8_t> tiers;    ///< of each of the request's names, as ClusterIndex::tiers()
  };
  /// Blocks [those that the worker has, end) from somebody who has them.
  struct Fetch {
    std::string source;  ///< empty: nothing is worth fetching
    uint32_t end = 0;
    double us = 0;
  };
  struct Share {
    std::string worker;  ///< empty: none
    TokenRange range;    ///< still to compute there
    double work_us = 0;
  };
  struct Booking {
    Share prefill;
    Share decode;
    uint32_t sequences = 0;
    TimeUs mentioned = 0;
  };
  using Matches = std::unordered_map<std::string, kv::WorkerMatch>;
  /// A worker for one request, and what it would compute.
  struct Choice {
    Candidate candidate;
    const Worker* worker = nullptr;
    TokenRange range;
    bool split = false;  ///< the prefill worker computes the missing full blocks
  };
  using Holdings = std::vector<Holding>;

  [[nodiscard]] std::string refusal(const Worker& worker, const PlaceRequest& request,
                                    uint64_t blocks_needed) const;
  [[nodiscard]] Choice consider_prefill(const Worker& worker, const PlaceRequest& request,
                                        const Matches& matches, const Holdings& holdings) const;
  [[nodiscard]] Choice consider_decode(const Worker& worker, const PlaceRequest& request,
                                       const Matches& matches, const Holdings& holdings,
                                       const Choice* prefill) const;
  /// The decode worker computes the prompt itself, after reading what `fetch` says.
  [[nodiscard]] Choice alone(Choice choice, const PlaceRequest& request, const Fetch& fetch) const;
  /// It reads all that it lacks from the prefill worker.
  [[nodiscard]] Choice split(Choice choice, const PlaceRequest& request,
                             const Choice& prefill) const;
  /// What the pages that the request takes and the slower steps of others are worth.
  [[nodiscard]] double occupation_us(const Worker& worker, const PlaceRequest& request,
                                     uint32_t matched) const;
  [[nodiscard]] Holdings holdings_of(const PlaceRequest& request, const Matches& matches,
                                     TimeUs now) const;
  /// To read so many blocks, some of which are on a disk alone.
  [[nodiscard]] static double reading_us(const Worker& worker, const Holding& holding,
                                         ptrdiff_t blocks, ptrdiff_t on_disk);
  /// What the worker, which has the first `matched` blocks, would best read from whom.
  [[nodiscard]] Fetch best_fetch(const Worker& worker, const PlaceRequest& request,
                                 uint32_t matched, const Holdings& holdings) const;
  /// The lowest score, ties in turn; nothing when all were refused.
  std::optional<size_t> best_of(const std::vector<Choice>& choices) const;
  [[nodiscard]] Error nobody(const std::vector<Choice>& choices, const char* role) const;
  uint64_t book(const PlaceRequest& request, const Choice& decode, const Choice* prefill,
                TimeUs now);
  void set_remaining(Share& share, uint32_t prefilled);
  void unbook(const Booking& booking);

  PlacementOptions options_;
  kv::ClusterIndex index_;
  std::map<std::string, Worker> workers_;
  std::map<std::string, Store> stores_;
  std::unordered_map<uint64_t, Booking> bookings_;
  uint64_t last_booking_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace troupe::actors
