#include "actors/store_offers.hpp"

#include <doctest/doctest.h>

#include "actors/limits.hpp"
#include "kv/region.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

constexpr uint32_t num_pages = 1024;
const kv::KvLayout layout{1, 1, 2, 4, kv::KvType::f32};

/// A worker with `count` blocks of one prompt in its index, and what it offers.
struct Offering {
  explicit Offering(uint32_t count)
      : pool(*kv::allocate_region(num_pages * layout.block_bytes()), layout),
        index(pool, events),
        offers(pages_of(pool, index), "address", std::string(32, 'f'), ports()) {
    offers.set_store(PeerKey{7});
    kv::BlockName parent;
    for (uint32_t i = 0; i < count; ++i) {
      names.push_back(kv::chain(parent, std::vector<int32_t>{static_cast<int32_t>(i)}));
      const kv::PageId page = *pool.allocate();
      index.insert(names.back(), parent, page);
      pool.release(page);
      offers.add(names.back(), kv::BlockName());
      parent = names.back();
    }
  }

  OfferPorts ports() {
    OfferPorts made;
    made.send = [this](PeerKey, const v1::Offer& offer) { sent.push_back(offer); };
    made.draw_session = [this] { return ++sessions; };
    made.grant = [](uint64_t, kv::PageId) {};
    made.revoke = [](uint64_t) {};
    made.revoke_page = [](uint64_t, kv::PageId) {};
    return made;
  }
  /// Names of what was offered since the last call.
  std::vector<std::string> offered() {
    std::vector<std::string> all;
    for (const v1::Offer& offer : sent) all.push_back(offer.names());
    last = sent;
    sent.clear();
    return all;
  }
  [[nodiscard]] std::string packed(uint32_t first, uint32_t count) const {
    return schemas::pack_names(std::vector(names.begin() + first, names.begin() + first + count));
  }

  std::vector<v1::Offer> sent, last;
  uint64_t sessions = 0;
  kv::Pool pool;
  kv::EventLog events;
  kv::LocalIndex index;
  std::vector<kv::BlockName> names;
  StoreOffers offers;
};

v1::OfferReply wants(uint32_t count) {
  v1::OfferReply reply;
  for (uint32_t i = 0; i < count; ++i) reply.add_wanted(i);
  return reply;
}

TEST_CASE("an offer that came to nothing is made again, first of all, and not for ever") {
  constexpr uint32_t size = limits::offer_blocks_max;
  Offering worker(3 * size);
  const std::string first = worker.packed(0, size), second = worker.packed(size, size),
                    third = worker.packed(2 * size, size);
  worker.offers.pump(1);
  CHECK(worker.offered() == std::vector{first, second});
  const auto failed = error(Code::unavailable, "no answer");
  worker.offers.on_reply(worker.last[0].session(), failed, 2);
  worker.offers.pump(2);
  CHECK(worker.offered() == std::vector{first});
  CHECK(worker.offers.num_repeated() == size);
  for (uint32_t tries = 2; tries < limits::offer_tries_max; ++tries) {
    worker.offers.on_reply(worker.last[0].session(), failed, 3);
    worker.offers.pump(3);
    CHECK(worker.offered() == std::vector{first});
  }
  worker.offers.on_reply(worker.last[0].session(), failed, 4);
  worker.offers.pump(4);
  CHECK(worker.offered() == std::vector{third});
}

TEST_CASE("what a store did not read before it fell silent is offered again, and nothing else") {
  Offering worker(4);
  worker.offers.pump(1);
  REQUIRE(worker.offered().size() == 1);
  const uint64_t session = worker.last[0].session();
  worker.offers.on_reply(session, wants(3), 2);
  v1::ReadDone done;
  done.set_session(session);
  done.add_block_index(1);
  CHECK(worker.offers.on_read_done(done, 3));
  worker.offers.on_tick(3 + 2 * limits::offer_lease_us);
  CHECK(worker.offers.num_sessions() == 0);
  worker.offers.pump(5);
  const std::string left = worker.packed(0, 1) + worker.packed(2, 1);
  CHECK(worker.offered() == std::vector{left});
}

TEST_CASE("an offer that is read, is not wanted, or is given up for room is not made again") {
  Offering worker(4);
  worker.offers.pump(1);
  worker.offered();
  SUBCASE("read") {
    worker.offers.on_reply(worker.last[0].session(), wants(4), 2);
    v1::ReadDone done;
    done.set_session(worker.last[0].session());
    for (uint32_t i = 0; i < 4; ++i) done.add_block_index(i);
    done.set_all(true);
    worker.offers.on_read_done(done, 3);
  }
  SUBCASE("not wanted") {
    worker.offers.on_reply(worker.last[0].session(), wants(0), 2);
  }
  SUBCASE("given up") {
    worker.offers.drop_all();
  }
  CHECK(worker.offers.num_sessions() == 0);
  worker.offers.pump(4);
  CHECK(worker.offered().empty());
  CHECK(worker.index.num_evictable() == 4);
}

}  // namespace
}  // namespace troupe::actors
