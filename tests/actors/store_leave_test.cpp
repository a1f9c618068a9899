// A store that leaves hands what it has in memory to another: in order, as fast as that one reads.
#include <doctest/doctest.h>

#include <deque>

#include "actors/limits.hpp"
#include "actors/store_logic.hpp"
#include "base/crc32c.hpp"
#include "kv/region.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

constexpr size_t bytes_per_block = 4096;
constexpr PeerKey worker = 1, old_store = 2, new_store = 3;
const std::string fingerprint(32, 'f');

/// Two stores and a worker that fills the first; messages wait in one queue.
struct TwoStores {
  explicit TwoStores(size_t old_blocks, size_t new_blocks)
      : old_one(*kv::allocate_region(old_blocks * bytes_per_block), ports(old_store)),
        new_one(*kv::allocate_region(new_blocks * bytes_per_block), ports(new_store)) {}

  StorePorts ports(PeerKey own) {
    StorePorts made;
    made.serve = [own](size_t, uint32_t) { return Result<std::string>(std::to_string(own)); };
    made.connect = [this, own](uint64_t session, const std::string& address) {
      mail.emplace_back([this, own, session, address] {
        logic(own).on_connected(session, transport::PeerId{std::stoull(address)}, now);
      });
    };
    made.read = [this, own](transport::PeerId peer, const transport::ReadRequest& request,
                            uint32_t index) {
      mail.emplace_back([this, own, peer, request, index] {
        logic(own).on_read(request.session_token, index, read(own, peer, request), now);
      });
    };
    made.cancel_reads = [](uint64_t) {};
    made.tell_worker = [this](PeerKey to, const v1::ReadDone& done) {
      mail.emplace_back([this, to, done] {
        if (to != worker) logic(to).on_read_done(done, now);
      });
    };
    made.send_announce = [](PeerKey, const v1::Announce&) {};
    made.grant = [](uint64_t, kv::PageId) {};
    made.revoke = [](uint64_t) {};
    made.revoke_page = [](uint64_t, kv::PageId) {};
    made.draw_session = [this] { return ++last_session; };
    made.send_offer = [this, own](PeerKey to, const v1::Offer& offer) {
      offers.push_back(offer);
      mail.emplace_back([this, own, to, offer] {
        if (is_new_gone) return;
        const auto reply = logic(to).on_offer(own, offer, now);
        most_arriving = std::max(most_arriving, logic(to).report().blocks_arriving());
        mail.emplace_back([this, own, reply, session = offer.session()] {
          logic(own).on_offer_reply(session, reply, now);
        });
      });
    };
    return made;
  }
  StoreLogic& logic(PeerKey key) { return key == old_store ? old_one : new_one; }

  Result<transport::ReadDone> read(PeerKey reader, transport::PeerId peer,
                                   const transport::ReadRequest& request) {
    std::byte* to = logic(reader).blocks()->page(request.local_page);
    if (peer == worker) {
      std::fill_n(to, bytes_per_block, fill_of(request.remote_page));
    } else {
      std::copy_n(logic(peer).blocks()->page(request.remote_page), bytes_per_block, to);
    }
    if (crc32c({to, bytes_per_block}) != request.checksum) return error(Code::corrupt, "damaged");
    return transport::ReadDone{transport::Path::shared_memory, bytes_per_block, 1};
  }
  static std::byte fill_of(uint32_t page) { return static_cast<std::byte>(page % 251); }

  /// A chain of so many blocks below a root of its own arrives in the old store.
  std::vector<kv::BlockName> fill(uint8_t root, uint32_t count) {
    kv::BlockName parent;
    parent.bytes[0] = static_cast<decltype(parent.bytes)::value_type>(root);
    std::vector<kv::BlockName> names;
    for (uint32_t i = 0; i < count; ++i) {
      const kv::BlockName name = kv::chain(parent, std::vector<int32_t>{static_cast<int32_t>(i)});
      v1::Offer offer;
      offer.set_session(++last_session);
      offer.set_block_bytes(bytes_per_block);
      offer.set_kv_fingerprint(fingerprint);
      offer.set_transport_address(std::to_string(worker));
      offer.set_names(schemas::pack_names(std::vector{name}));
      offer.set_parents(schemas::pack_names(std::vector{parent}));
      offer.set_roots(schemas::pack_names(std::vector{kv::BlockName()}));
      offer.set_priority(5);
      v1::AnnouncedBlock* block = offer.add_blocks();
      block->set_page(++last_page);
      const std::vector<std::byte> bytes(bytes_per_block, fill_of(last_page));
      block->set_checksum(crc32c(bytes));
      REQUIRE_FALSE(old_one.on_offer(worker, offer, now).has_failure());
      run();
      names.push_back(name);
      parent = name;
    }
    return names;
  }
  void run() {
    while (!mail.empty()) {
      auto next = std::move(mail.front());
      mail.pop_front();
      next();
    }
  }
  void tick(TimeUs later) {
    now += later;
    old_one.on_tick(now);
    new_one.on_tick(now);
    run();
  }

  std::deque<std::function<void()>> mail;
  std::vector<v1::Offer> offers;
  uint64_t last_session = 100;
  uint32_t last_page = 0, most_arriving = 0;
  bool is_new_gone = false;
  TimeUs now = 1;
  StoreLogic old_one, new_one;
};

}  // namespace

TEST_CASE("everything arrives, what was used last first, each chain from its beginning") {
  TwoStores stores(300, 300);
  const auto first = stores.fill(1, 100);
  const auto second = stores.fill(2, 100);
  stores.old_one.begin_leaving(new_store, stores.now);
  CHECK(stores.old_one.num_leaving() > 0);
  std::vector<kv::BlockName> expected = second;
  expected.insert(expected.end(), first.begin(), first.end());
  stores.run();
  CHECK(stores.old_one.num_leaving() == 0);
  std::string order;
  for (const v1::Offer& offer : stores.offers) order += offer.names();
  CHECK(order == schemas::pack_names(expected));
  CHECK(stores.new_one.report().blocks() == 200);
  for (const kv::BlockName& name : expected) CHECK(stores.new_one.blocks()->contains(name));
  // It goes on giving, and takes nothing.
  CHECK(stores.old_one.report().blocks() == 200);
  CHECK(stores.old_one.report().blocks_pinned() == 0);
  v1::Offer late = stores.offers.front();
  late.set_session(9);
  CHECK(stores.old_one.on_offer(worker, late, stores.now).failure().code() ==
        static_cast<uint32_t>(Code::unavailable));
}

TEST_CASE(
    "a store that takes over is asked for no more than it reads, and keeps what is worth most") {
  TwoStores stores(300, 100);
  stores.fill(1, 150);
  const auto last = stores.fill(2, 100);
  stores.old_one.begin_leaving(new_store, stores.now);
  stores.run();
  CHECK(stores.old_one.num_leaving() == 0);
  CHECK(stores.most_arriving <= limits::offers_unanswered_max * limits::offer_blocks_max);
  CHECK(stores.new_one.report().blocks() == 100);
  CHECK(stores.old_one.report().blocks_pinned() == 0);
}

TEST_CASE("a damaged block is not handed over, and all others are") {
  TwoStores stores(100, 100);
  const auto names = stores.fill(1, 50);
  stores.old_one.blocks()->page(*stores.old_one.blocks()->page_of(names[20]))[5] ^= std::byte{1};
  stores.old_one.begin_leaving(new_store, stores.now);
  stores.run();
  for (int i = 0; i < 20; ++i) stores.tick(limits::offer_lease_us / 2);
  CHECK(stores.old_one.num_leaving() == 0);
  CHECK(stores.new_one.report().blocks() == 49);
  CHECK_FALSE(stores.new_one.blocks()->contains(names[20]));
}

TEST_CASE("the end of the store that takes over ends it, whether it is told or silent") {
  TwoStores stores(100, 100);
  stores.fill(1, 80);
  stores.is_new_gone = true;
  stores.old_one.begin_leaving(new_store, stores.now);
  stores.run();
  CHECK(stores.old_one.num_leaving() > 0);
  SUBCASE("told") {
    stores.old_one.on_peer_down(new_store);
  }
  SUBCASE("silent: what is asked fails, and the leases end") {
    for (int i = 0; i < 40 && stores.old_one.num_leaving() > 0; ++i) {
      for (const v1::Offer& offer : std::exchange(stores.offers, {})) {
        stores.old_one.on_offer_reply(offer.session(), error(Code::timeout, "no answer"),
                                      stores.now);
      }
      stores.tick(limits::offer_lease_us);
    }
  }
  CHECK(stores.old_one.num_leaving() == 0);
  CHECK(stores.old_one.report().blocks_pinned() == 0);
}

TEST_CASE("a store without a block has nothing to hand over") {
  TwoStores stores(10, 10);
  stores.old_one.begin_leaving(new_store, stores.now);
  CHECK(stores.old_one.num_leaving() == 0);
  CHECK(stores.offers.empty());
}

}  // namespace troupe::actors
