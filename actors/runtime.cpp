#include "actors/runtime.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <cstdlib>
#include <utility>

#include "actors/caf_messages.hpp"
#include "actors/node_identity.hpp"
#include "actors/tls_errors.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

struct Runtime::Config : caf::actor_system_config {
  explicit Config(const TlsFiles& tls) {
    add_message_types<caf::id_block::troupe>();
    // Measured on a 2-core machine: a quarter of the default's remote round trip.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", size_t{4});
    set("middleman.workers", size_t{0});
    set("middleman.heartbeat-interval", caf::timespan{std::chrono::seconds(1)});
    set("middleman.connection-timeout", caf::timespan{std::chrono::seconds(10)});
    if (tls.empty()) return;
    load<caf::io::middleman>();
    load<caf::openssl::manager>();
    load<NodeIdentity>();
    openssl_certificate = tls.certificate_path;
    openssl_key = tls.key_path;
    openssl_cafile = tls.ca_path;
  }
};

Runtime::Runtime() = default;
Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::start(const TlsFiles& tls, uint64_t incarnation) {
  if (!tls.empty()) {
    TROUPE_TRY(keep_tls_errors_apart());
    for (const std::string& path : {tls.certificate_path, tls.key_path, tls.ca_path}) {
      if (::access(path.c_str(), R_OK) == 0) continue;
      return error(Code::failed_precondition, concat("cannot read the certificate file ", path),
                   "a node needs a certificate of its cluster; troupe up makes them");
    }
  }
  std::unique_ptr<Runtime> runtime(new Runtime);
  runtime->networked_ = !tls.empty();
  runtime->incarnation_ = incarnation != 0 ? incarnation : random_u64();
  try {
    runtime->config_ = std::make_unique<Config>(tls);
    runtime->system_ = std::make_unique<caf::actor_system>(*runtime->config_);
  } catch (const std::exception& e) {
    return error(Code::internal, concat("the actor system did not start: ", e.what()),
                 "are the certificate and its key a pair, in PEM form?");
  }
  return runtime;
}

namespace {
std::atomic<uint64_t (*)()> random_source{nullptr};
}

void replace_random(uint64_t (*source)()) {
  random_source = source;
}

uint64_t random_u64() {
  if (uint64_t(*source)() = random_source) return source();
  // One question to the kernel for many numbers: std::random_device takes microseconds for each.
  thread_local std::array<uint64_t, 32> numbers;
  thread_local size_t used = numbers.size();
  thread_local pid_t owner = 0;  // what a fork copied is not used twice
  for (;;) {
    if (used == numbers.size() || owner != ::getpid()) {
      if (::getentropy(numbers.data(), sizeof numbers) != 0) std::abort();
      used = 0;
      owner = ::getpid();
    }
    const uint64_t value = std::exchange(numbers[used++], 0);
    if (value != 0) return value;
  }
}

}  // namespace troupe::actors
