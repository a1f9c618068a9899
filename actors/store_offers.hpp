// The side of offering of a worker, or of a store that leaves: full blocks wait in a bounded queue
// until a store has been asked whether it wants them; those it wants stay pinned until it has read
// them or the lease ends. Nothing here is ever waited for. No CAF.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/peer_key.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kv/block_store.hpp"
#include "kv/local_index.hpp"
#include "kv/pool.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/request.pb.h"
#include "transport/source_session.hpp"

namespace troupe::actors {

/// The blocks that are offered, and how their pages are kept.
struct OfferPages {
  uint32_t num_pages = 0;
  size_t block_bytes = 0;
  std::function<std::optional<kv::IndexedBlock>(const kv::BlockName&)> find;
  /// The name of the block before it in its chain, or the chain's root; nothing: not known.
  std::function<std::optional<kv::BlockName>(const kv::BlockName&)> parent;
  std::function<void(kv::PageId)> retain;
  std::function<void(kv::PageId)> release;
};
/// Those of a worker's index / of a store. All of it must outlive the pages.
OfferPages pages_of(kv::Pool& pool, kv::LocalIndex& index);
OfferPages pages_of(kv::BlockStore& blocks);

/// What offering asks of its shell. Calls must not re-enter.
struct OfferPorts {
  /// Sends the offer to the store; answered by on_reply().
  std::function<void(PeerKey store, const v1::Offer&)> send;
  /// A number for a session that nobody else has.
  std::function<uint64_t()> draw_session;
  /// The session may read the page of our pool / may read nothing any more.
  std::function<void(uint64_t session, kv::PageId page)> grant;
  std::function<void(uint64_t session)> revoke;
  std::function<void(uint64_t session, kv::PageId page)> revoke_page;
};

class StoreOffers {
 public:
  StoreOffers(OfferPages pages, std::string transport_address, std::string fingerprint,
              OfferPorts ports);
  ~StoreOffers();
  StoreOffers(const StoreOffers&) = delete;
  StoreOffers& operator=(const StoreOffers&) = delete;

  /// From now on blocks are offered to this store; nothing: to nobody.
  void set_store(std::optional<PeerKey> store);
  [[nodiscard]] std::optional<PeerKey> store() const { return store_; }

  /// A full block of the chain with this root. With no store it is forgotten; when the queue is
  /// full, the oldest goes.
  void add(const kv::BlockName& name, const kv::BlockName& root);
  /// Sends offers as far as the limits allow. Call it when the step was given to the device.
  void pump(TimeUs now);
  /// Blocks of an offer that came to nothing (no answer, a store that stopped reading) are offered
  /// again: a prompt with a hole in it is of use up to the hole only.
  void on_reply(uint64_t session, const Result<v1::OfferReply>& reply, TimeUs now);
  /// The store has read something. False: it is no session of ours.
  bool on_read_done(const v1::ReadDone& done, TimeUs now);
  void on_tick(TimeUs now);
  /// Gives every page back at once: somebody needs them more. What the store still reads then is
  /// not what was offered; the checksum tells it.
  void drop_all();

  [[nodiscard]] size_t num_sessions() const { return sessions_.size(); }
  [[nodiscard]] size_t num_waiting() const { return queue_.size(); }
  [[nodiscard]] uint64_t num_offered() const { return num_offered_; }
  [[nodiscard]] uint64_t num_dropped() const { return num_dropped_; }
  /// Blocks that were offered again.
  [[nodiscard]] uint64_t num_repeated() const { return num_repeated_; }

 private:
  struct Waiting {
    kv::BlockName name, root;
    uint32_t tries = 0;  ///< offers that it was in
  };
  struct Offered {
    transport::SourceSession session;
    std::vector<std::optional<Waiting>> blocks;  ///< empty: the store has it, or does not want it
  };

  std::optional<v1::Offer> make_offer(TimeUs now);
  static void settle(Offered& offered, std::span<const uint32_t> indices);
  void offer_again(const Offered& offered);
  /// Does what the session's state machine says. The session may be gone afterwards.
  void apply(uint64_t session, const transport::SourceActions& actions);

  OfferPages pages_;
  std::string transport_address_;
  std::string fingerprint_;
  OfferPorts ports_;
  std::optional<PeerKey> store_;
  std::deque<Waiting> queue_;
  std::unordered_map<uint64_t, Offered> sessions_;
  size_t num_unanswered_ = 0;
  uint32_t num_pinned_ = 0;
  uint64_t num_offered_ = 0;
  uint64_t num_dropped_ = 0;
  uint64_t num_repeated_ = 0;
};

}  // namespace troupe::actors
