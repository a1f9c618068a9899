// Conversions between the wire messages and the lower house's structs. What comes from the wire is
// checked here, once, before anything is allocated for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/sampling.hpp"
#include "kv/block_name.hpp"
#include "kv/cluster_index.hpp"
#include "kv/events.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/common.pb.h"
#include "schemas/request.pb.h"

namespace troupe::schemas {

/// Raised when a message changes its meaning; peers with another version are refused.
inline constexpr uint32_t protocol_version = 1;

v1::Failure to_wire(const Error& error);
/// Only for failures with code != 0; unknown codes become `internal`.
Error from_wire(const v1::Failure& failure);
inline bool failed(const v1::Failure& failure) {
  return failure.code() != 0;
}

v1::Sampling to_wire(const engine::SamplingParams& params);
/// Errors: invalid_argument when bias arrays differ in length or exceed their limits.
Result<engine::SamplingParams> from_wire(const v1::Sampling& sampling);

/// Names as 16 bytes each.
std::string pack_names(const std::vector<kv::BlockName>& names);
/// Errors: corrupt when the length is no multiple of 16.
Result<std::vector<kv::BlockName>> unpack_names(std::string_view bytes);
std::string pack_name(const kv::BlockName& name);
Result<kv::BlockName> unpack_name(std::string_view bytes);

/// Events must be numbered without a hole.
v1::KvEvents to_wire(const std::vector<kv::Event>& events);
Result<std::vector<kv::Event>> from_wire(const v1::KvEvents& events);

/// What a snapshot says is where. Errors: corrupt (names of a bad length, tiers that do not exist
/// or are not as many as the names).
Result<std::vector<kv::Residence>> from_wire(const v1::KvSnapshot& snapshot);

}  // namespace troupe::schemas
