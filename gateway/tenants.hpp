// What each tenant may use: requests and tokens a minute, requests at once. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "gateway/api_error.hpp"

namespace troupe::gateway {

/// 0: no limit.
struct TenantLimits {
  uint32_t requests_per_minute = 0;
  uint64_t tokens_per_minute = 0;  ///< prompt and output
  uint32_t running_max = 0;
};

class Tenants {
 public:
  void set(const std::string& tenant, TenantLimits limits);

  /// A request begins; the error is a 429 with the reason and when to come again.
  std::optional<ApiError> begin(const std::string& tenant, TimeUs now);
  /// It ended, with so many tokens of prompt and output together.
  void end(const std::string& tenant, uint64_t tokens, TimeUs now);
  [[nodiscard]] uint32_t running(const std::string& tenant) const;

 private:
  /// Fills evenly up to a minute's worth. May be below zero: tokens are known afterwards.
  struct Bucket {
    double level = 0;
    TimeUs at = 0;
    void fill(double per_minute, TimeUs now);
  };
  struct Tenant {
    TenantLimits limits;
    Bucket requests, tokens;
    uint32_t running = 0;
    bool is_new = true;
  };
  Tenant& tenant(const std::string& name, TimeUs now);

  mutable std::mutex mutex_;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace troupe::gateway
