// The source's side of the TCP path: answers wants for granted pages with pieces. Internal.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "transport/counters.hpp"
#include "transport/frames.hpp"
#include "transport/pool_view.hpp"
#include "transport/ucx.hpp"

namespace troupe::transport {

/// Which session may read which pages. Thread-safe: an actor grants a page and announces it at
/// once, so the grant has to be in force before the UCX thread sees the want.
class GrantTable {
 public:
  void grant(uint64_t token, kv::PageId page);
  void revoke(uint64_t token);
  void revoke_page(uint64_t token, kv::PageId page);
  [[nodiscard]] bool allows(uint64_t token, kv::PageId page) const;
  [[nodiscard]] size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::unordered_set<kv::PageId>> pages_;
};

class Source {
 public:
  Source(UcxWorker& worker, uint64_t incarnation, const PoolView& pool, const GrantTable& grants,
         Counters& counters)
      : worker_(worker),
        incarnation_(incarnation),
        pool_(pool),
        grants_(grants),
        counters_(counters) {}

  Status listen();
  /// Sends what the windows permit and forgets receivers that are down. True if it sent.
  bool turn();
  /// Closes all endpoints. Sends end soon after: see idle().
  void stop();
  [[nodiscard]] bool idle() const { return sends_ == 0; }

 private:
  /// Making an endpoint inside a callback frees the connection that UCX is reading from (a crash
  /// in 1.13), so wants wait for the end of progress.
  struct Arrived {
    WantFrame want;
    std::string address;
  };
  struct Job {
    WantFrame want;
    uint64_t offset = 0;
  };
  /// A receiver's incarnation and the generation of its endpoint to us: when it closes that
  /// endpoint and makes another, what runs over the old one is dead.
  using ReceiverKey = std::pair<uint64_t, uint64_t>;
  struct Receiver {
    ReceiverKey key;
    std::unique_ptr<Endpoint> endpoint;
    uint32_t in_flight = 0;
    std::deque<Job> jobs;
  };
  /// What UCX reads until a send completes.
  struct Send {
    Source* source;
    ReceiverKey receiver;
    bool last_piece;
    DataFrame data;
    RefusedFrame refused;
  };

  void on_want(std::span<const std::byte> header, std::string_view payload);
  void answer(const Arrived& arrived);
  /// Closing calls back for every send under way, so the entry is gone before.
  void forget(std::map<ReceiverKey, Receiver>::iterator receiver);
  Receiver* receiver_of(const WantFrame& want, std::string_view address);
  std::optional<Refusal> why_refused(const WantFrame& want) const;
  void refuse(Receiver& receiver, const WantFrame& want, Refusal reason);
  bool pump(Receiver& receiver);
  void send_piece(Receiver& receiver, Job& job);
  void post(Receiver& receiver, std::unique_ptr<Send> send, FrameKind kind,
            std::span<const std::byte> header, std::span<const std::byte> payload);
  void on_sent(const Send& send, ucs_status_t status);

  UcxWorker& worker_;
  uint64_t incarnation_;
  const PoolView& pool_;
  const GrantTable& grants_;
  Counters& counters_;
  std::map<ReceiverKey, Receiver> receivers_;
  std::vector<Arrived> arrived_;
  size_t sends_ = 0;
  bool stopped_ = false;
};

}  // namespace troupe::transport
