#include "gateway/tenants.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace troupe::gateway {
namespace {

constexpr double us_per_minute = 60e6;

/// Seconds until a bucket that fills with `per_minute` has `missing` more.
int seconds_for(double missing, double per_minute) {
  return std::max(1, static_cast<int>(std::ceil(missing * 60 / per_minute)));
}

}  // namespace

void Tenants::Bucket::fill(double per_minute, TimeUs now) {
  level = std::min(per_minute, level + static_cast<double>(now - at) * per_minute / us_per_minute);
  at = now;
}

void Tenants::set(const std::string& name, TenantLimits limits) {
  const std::lock_guard lock(mutex_);
  tenants_[name].limits = limits;
}

Tenants::Tenant& Tenants::tenant(const std::string& name, TimeUs now) {
  Tenant& found = tenants_[name];
  if (std::exchange(found.is_new, false)) {
    found.requests = {static_cast<double>(found.limits.requests_per_minute), now};
    found.tokens = {static_cast<double>(found.limits.tokens_per_minute), now};
  }
  found.requests.fill(found.limits.requests_per_minute, now);
  found.tokens.fill(static_cast<double>(found.limits.tokens_per_minute), now);
  return found;
}

std::optional<ApiError> Tenants::begin(const std::string& name, TimeUs now) {
  const std::lock_guard lock(mutex_);
  Tenant& found = tenant(name, now);
  const TenantLimits& limits = found.limits;
  if (limits.running_max != 0 && found.running >= limits.running_max) {
    return ApiError{429,
                    concat("tenant ", name, " has ", found.running,
                           " requests running, its limit is ", limits.running_max),
                    {},
                    "rate_limit_exceeded",
                    1};
  }
  if (limits.requests_per_minute != 0 && found.requests.level < 1) {
    return ApiError{
        429,
        concat("tenant ", name, " has used its ", limits.requests_per_minute, " requests a minute"),
        {},
        "rate_limit_exceeded",
        seconds_for(1 - found.requests.level, limits.requests_per_minute)};
  }
  if (limits.tokens_per_minute != 0 && found.tokens.level <= 0) {
    const auto rate = static_cast<double>(limits.tokens_per_minute);
    return ApiError{
        429,
        concat("tenant ", name, " has used its ", limits.tokens_per_minute, " tokens a minute"),
        {},
        "rate_limit_exceeded",
        seconds_for(1 - found.tokens.level, rate)};
  }
  found.requests.level -= 1;
  found.running += 1;
  return std::nullopt;
}

void Tenants::end(const std::string& name, uint64_t tokens, TimeUs now) {
  const std::lock_guard lock(mutex_);
  Tenant& found = tenant(name, now);
  found.running -= std::min(found.running, 1u);
  if (found.limits.tokens_per_minute != 0) found.tokens.level -= static_cast<double>(tokens);
}

uint32_t Tenants::running(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? 0 : found->second.running;
}

}  // namespace troupe::gateway
