// A store in the world of worker_world.hpp.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "actors/store_logic.hpp"
#include "kv/region.hpp"
#include "tests/support/sim_disk.hpp"

namespace troupe::testing {

/// Its name among the workers, and its number as a peer.
inline constexpr const char* store_name = "store";
inline constexpr uint64_t store_key = 500;

class WorldStore {
 public:
  WorldStore(size_t bytes, actors::StorePorts ports)
      : logic(kv::allocate_region(bytes).value(), std::move(ports)) {}
  WorldStore(size_t bytes, actors::StorePorts ports, const SimDisk& disk, uint64_t disk_bytes)
      : WorldStore(bytes, std::move(ports)) {
    logic.use_disk(disk_bytes, disk.found());
  }

  [[nodiscard]] std::byte* page(kv::PageId id) const { return logic.blocks()->page(id); }
  /// Blocks that can be given out.
  [[nodiscard]] uint32_t held() const { return logic.report().blocks(); }
  void check_idle() const {
    const v1::StoreReport report = logic.report();
    CHECK(report.sessions() == 0);
    CHECK(report.blocks_arriving() == 0);
    CHECK(report.blocks_pinned() == 0);
    CHECK(granted.empty());
  }

  actors::StoreLogic logic;
  std::set<std::pair<uint64_t, kv::PageId>> granted;
  std::set<uint64_t> cancelled_reads;
  bool dead = false;
  bool stopped = false;  ///< as by SIGSTOP: what is sent to it waits
};

}  // namespace troupe::testing
