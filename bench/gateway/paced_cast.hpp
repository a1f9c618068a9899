// A cast that speaks at a pace: every step each of its requests says one token, as a decode worker
// would.
#pragma once

#include <cstdint>
#include <memory>

#include "gateway/server.hpp"
#include "gateway/service.hpp"

namespace troupe::bench {

/// The gateway's own code, sockets included, in front of such a cast.
class PacedGateway {
 public:
  /// A step every `step_us`; 0: at once, and each request's whole text in one go.
  explicit PacedGateway(int64_t step_us);
  ~PacedGateway();

  [[nodiscard]] uint16_t port() const;
  /// Writes to sockets since the start.
  [[nodiscard]] uint64_t sends() const;
  /// What the cast itself takes to say so much to nobody, in microseconds of CPU per token.
  double source_us(size_t streams, uint32_t tokens);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::bench
