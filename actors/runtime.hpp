// Starts a CAF actor system the way Troupe needs it: mutual TLS, random node id, no surprises.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace caf {
class actor_system;
}

namespace troupe::actors {

/// Certificate files of this node, all of the cluster's own CA. Empty: no network at all.
struct TlsFiles {
  std::string certificate_path;
  std::string key_path;
  std::string ca_path;

  [[nodiscard]] bool empty() const { return certificate_path.empty(); }
};

/// Owns the actor system and its configuration. Every actor must have been told to exit before
/// this is destroyed.
class Runtime {
 public:
  /// Errors: failed_precondition when a certificate file is missing: a node without identity never
  /// starts (CAF would fall back to anonymous encryption).
  /// `incarnation` 0: drawn here.
  static Result<std::unique_ptr<Runtime>> start(const TlsFiles& tls, uint64_t incarnation = 0);
  ~Runtime();

  [[nodiscard]] caf::actor_system& system() { return *system_; }
  [[nodiscard]] bool networked() const { return networked_; }
  /// Random per process start.
  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }

 private:
  struct Config;
  Runtime();
  std::unique_ptr<Config> config_;
  std::unique_ptr<caf::actor_system> system_;
  bool networked_ = false;
  uint64_t incarnation_ = 0;
};

/// 64 random bits from the operating system, never 0.
uint64_t random_u64();
/// Simulations draw from their seed instead; nullptr: from the operating system again. The source
/// must not give 0.
void replace_random(uint64_t (*source)());

}  // namespace troupe::actors
