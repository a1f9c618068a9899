#include "actors/placement_cost.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::actors {
namespace {

// Most requests end long before their limit; a limit of 16 K must not look like 16 K steps.
constexpr uint32_t output_tokens_expected_max = 256;

bool not_negative(double value) {
  return std::isfinite(value) && value >= 0;
}

}  // namespace

bool plausible(const DeviceProfile& profile) {
  return not_negative(profile.attention_ns_per_token_per_context) &&
         not_negative(profile.decode_us_per_step) && not_negative(profile.prefill_us_per_token) &&
         profile.prefill_us_per_token > 0 && not_negative(profile.transfer_bytes_per_us) &&
         profile.transfer_bytes_per_us > 0;
}

double work_us(const DeviceProfile& profile, TokenRange range) {
  if (range.end <= range.begin) return 0;
  const double begin = range.begin;
  const double end = range.end;
  const double contexts = (end - begin) * (end + begin) / 2;
  return (end - begin) * profile.prefill_us_per_token +
         contexts * profile.attention_ns_per_token_per_context / 1000;
}

double fetch_us(const DeviceProfile& from, const DeviceProfile& to, uint64_t bytes) {
  return static_cast<double>(bytes) /
         std::min(from.transfer_bytes_per_us, to.transfer_bytes_per_us);
}

double crowding_us(const DeviceProfile& profile, uint32_t running, uint32_t max_tokens) {
  const uint32_t steps = std::min(max_tokens, output_tokens_expected_max);
  return profile.decode_us_per_step * running * steps;
}

double eviction_us(const DeviceProfile& profile, uint64_t blocks, uint32_t tokens_per_block) {
  return profile.prefill_us_per_token * static_cast<double>(blocks) * tokens_per_block;
}

}  // namespace troupe::actors
