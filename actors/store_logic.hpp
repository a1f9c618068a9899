// What a KV store does, without CAF: takes the blocks that workers offer by reading them from their
// pools, and gives blocks by name to workers that read them from here. It never writes anybody
// else's memory and computes nothing. The actor around it (kv_store.cpp) translates.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/peer_key.hpp"
#include "actors/store_disk.hpp"
#include "actors/store_offers.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kv/block_store.hpp"
#include "kv/cluster_index.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/request.pb.h"
#include "transport/receiver_session.hpp"
#include "transport/transport.hpp"

namespace troupe::actors {

/// What the logic asks of its shell. Calls must not re-enter the logic.
struct StorePorts {
  /// The first offer has said how large a block is: pages of that size are served from now on.
  /// Gives what readers connect to.
  std::function<Result<std::string>(size_t block_bytes, uint32_t num_pages)> serve;
  /// Connects the transport to a worker; answered by on_connected().
  std::function<void(uint64_t session, const std::string& address)> connect;
  /// Reads one page; answered by on_read().
  std::function<void(transport::PeerId, const transport::ReadRequest&, uint32_t index)> read;
  std::function<void(uint64_t session)> cancel_reads;
  std::function<void(PeerKey worker, const v1::ReadDone&)> tell_worker;
  std::function<void(PeerKey reader, const v1::Announce&)> send_announce;
  /// The session may read the page of our region / may read nothing any more.
  std::function<void(uint64_t session, kv::PageId page)> grant;
  std::function<void(uint64_t session)> revoke;
  std::function<void(uint64_t session, kv::PageId page)> revoke_page;
  /// Offers blocks to another store; answered by on_offer_reply().
  std::function<void(PeerKey store, const v1::Offer&)> send_offer;
  /// A number for a session that nobody else has.
  std::function<uint64_t()> draw_session;
  /// Does the job; answered by on_disk_done(). Only with use_disk().
  std::function<void(kv::DiskJob)> disk;
};

/// A fingerprint as it travels [32].
Digest digest_of(const std::string& bytes);

class StoreLogic {
 public:
  StoreLogic(kv::Region region, StorePorts ports);
  /// A disk of so many bytes, and what lies on it. Once, before anything else.
  void use_disk(uint64_t bytes_max, const std::vector<kv::FoundSegment>& found);

  // --- taking in ------------------------------------------------------------------------------
  /// Which of the offered blocks are wanted; they are read until the worker's lease ends.
  v1::OfferReply on_offer(PeerKey worker, const v1::Offer& offer, TimeUs now);
  void on_connected(uint64_t session, const Result<transport::PeerId>& peer, TimeUs now);
  void on_read(uint64_t session, uint32_t index, const Result<transport::ReadDone>& result,
               TimeUs now);

  // --- giving out -----------------------------------------------------------------------------
  /// Pins what is here of the named blocks and announces it: what is in memory at once, what is on
  /// disk when it has come from there.
  v1::AttachReply on_attach(PeerKey reader, const v1::Attach& attach, TimeUs now);
  void on_read_done(const v1::ReadDone& done, TimeUs now);

  void on_disk_done(const kv::DiskDone& done, TimeUs now);
  /// What is in memory goes to disk; nothing is taken in any more.
  void begin_flush(TimeUs now);
  /// It did; so it has without a disk.
  [[nodiscard]] bool is_flushed() const { return !disk_ || disk_->is_flushed(); }

  /// Nothing is taken in any more; what is in memory is offered to another store, what is worth
  /// most first. It goes on giving blocks out meanwhile.
  void begin_leaving(PeerKey heir, TimeUs now);
  void on_offer_reply(uint64_t session, const Result<v1::OfferReply>& reply, TimeUs now);
  /// Blocks that the other store was not asked about yet, or reads now.
  [[nodiscard]] size_t num_leaving() const;

  /// A worker or store is gone, whether it read or was read from.
  void on_peer_down(PeerKey peer);
  /// Leases and time-outs; call a few times a second.
  void on_tick(TimeUs now);

  /// Numbered from 1 on, as the blocks come and go.
  [[nodiscard]] const kv::EventLog& events() const { return events_; }
  /// What is here, for a snapshot right after events().last_number().
  [[nodiscard]] std::vector<kv::Residence> residences() const;
  /// Without name and incarnation.
  [[nodiscard]] v1::StoreReport report() const;
  [[nodiscard]] const kv::BlockStore* blocks() const { return blocks_.get(); }
  [[nodiscard]] const StoreDisk* disk() const { return disk_.get(); }

 private:
  /// Blocks on their way here. The session counts the wanted ones from 0.
  struct Intake {
    transport::ReceiverSession session;
    PeerKey worker = 0;
    transport::PeerId peer = 0;
    std::vector<kv::PageId> pages;
    std::vector<uint32_t> offered_index;  ///< of each wanted block
    std::vector<kv::OfferedBlock> blocks;
    std::vector<bool> arrived;
  };
  struct Reader {
    PeerKey reader = 0;
    uint32_t first_block = 0;
    kv::BlockName root;
    std::map<uint32_t, kv::PageId> pages;  ///< by place among the named blocks
    size_t num_waiting = 0;                ///< blocks that are on their way from disk
    TimeUs news = 0;                       ///< when the last of them came
  };
  /// Who waits for a page to be filled.
  struct Waiter {
    uint64_t session = 0;
    uint32_t place = 0;
  };

  Status check(const v1::Offer& offer) const;
  Status check_fingerprint(const std::string& fingerprint, const char* whose) const;
  /// Serves pages of this size to whoever speaks of this fingerprint.
  Status prepare(size_t block_bytes, const std::string& fingerprint);
  Result<std::vector<kv::OfferedBlock>> unpack(const v1::Offer& offer) const;
  /// Sets pages aside for what is wanted and starts to read it.
  void take(PeerKey worker, const v1::Offer& offer, std::vector<kv::PageId> pages,
            std::vector<uint32_t> wanted, const std::vector<kv::OfferedBlock>& offered, TimeUs now);
  /// Does what the session's state machine says. The intake may be gone afterwards.
  void apply(uint64_t session, const transport::ReceiverActions& actions);
  [[nodiscard]] Status check(const v1::Attach& attach, size_t num_names) const;
  Status prepare_for(const v1::Attach& attach);
  /// The blocks from the first on that are here: pages to announce, and those to wait for.
  std::vector<std::pair<uint32_t, kv::IndexedBlock>> gather(uint64_t session, Reader& reader,
                                                            std::span<const kv::BlockName> names,
                                                            TimeUs now);
  /// A page was filled from disk, or will not be.
  void on_page(kv::PageId page, bool is_whole, TimeUs now);
  /// Tells readers that wait for the disk that they are not forgotten, or that it is too slow.
  void tick_readers(TimeUs now);
  void end_reader(uint64_t session);
  void pump(TimeUs now);
  void pump_offers(TimeUs now);

  kv::Region region_;
  StorePorts ports_;
  kv::EventLog events_;
  std::unique_ptr<kv::BlockStore> blocks_;  ///< empty until it is known how large a block is
  std::string transport_address_;           ///< the same
  std::string fingerprint_;                 ///< the same
  std::unique_ptr<StoreDisk> disk_;         ///< empty without one
  bool is_flushing_ = false;
  bool is_leaving_ = false;
  std::unique_ptr<StoreOffers> offers_;  ///< to the store that is to have its blocks
  std::deque<kv::BlockName> to_offer_;   ///< in order
  std::unordered_map<uint64_t, Intake> intakes_;
  std::unordered_map<uint64_t, Reader> readers_;
  std::unordered_map<kv::PageId, std::vector<Waiter>> waiters_;
  uint64_t damaged_on_the_way_ = 0;
};

}  // namespace troupe::actors
