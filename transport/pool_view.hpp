// The pages that this process serves and reads into. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::transport {

struct PoolView {
  kv::Region region;  ///< data is null until serve_pool
  size_t block_bytes = 0;
  uint32_t num_pages = 0;

  [[nodiscard]] std::byte* page(kv::PageId id) const {
    return region.data + size_t{id} * block_bytes;
  }
};

}  // namespace troupe::transport
