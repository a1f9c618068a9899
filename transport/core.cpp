// Start, stop and what a Transport owns.
#include "transport/core.hpp"

#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {
namespace {

constexpr std::string_view component = "transport";

uint64_t random_incarnation() {
  std::random_device device;
  uint64_t value = 0;
  while (value == 0) value = (uint64_t{device()} << 32) | device();
  return value;
}

/// Two starts at one time would mix their environments.
std::mutex start_mutex;

}  // namespace

/// What keeps a region's memory: unmapping is the UCX thread's, and the context has to be there.
struct Transport::Core::Mapping {
  std::shared_ptr<Core> core;
  std::shared_ptr<SharedMemory> memory;

  ~Mapping() {
    core->thread_.call([this] { memory.reset(); });
  }
};

Status Transport::Core::start() {
  const std::lock_guard lock(start_mutex);
  for (const std::string& variable : missing_environment()) {
    log_warning(component, concat(variable, " is not set as UCX needs it; set it before exec"));
  }
  const char* user_tls = std::getenv("UCX_TLS");
  const AllowedPaths allowed = parse_ucx_tls(user_tls != nullptr ? user_tls : "");
  const bool use_shm = options_.shared_memory && allowed.shared_memory;
  const bool use_tcp = options_.tcp && allowed.tcp;
  if (!use_shm && !use_tcp) {
    return error(Code::invalid_argument,
                 concat("neither shared memory nor TCP may be used (UCX_TLS is \"",
                        user_tls != nullptr ? user_tls : "", "\")"),
                 "allow at least one; UCX_TLS may name posix, tcp or both");
  }
  if (options_.incarnation == 0) options_.incarnation = random_incarnation();
  std::vector<UcxWorker*> workers;
  if (use_shm) {
    TROUPE_ASSIGN(shm_, UcxWorker::start(shared_memory_environment(), true));
    workers.push_back(shm_.get());
  }
  if (use_tcp) {
    TROUPE_ASSIGN(const std::string device, device_of_address(options_.data_address));
    data_port_ = std::make_unique<DataPort>(options_.key, options_.incarnation, counters_);
    TROUPE_TRY(data_port_->guard([&]() -> Status {
      TROUPE_ASSIGN(tcp_, UcxWorker::start(tcp_environment(device), false));
      return {};
    }));
    workers.push_back(tcp_.get());
    source_ = std::make_unique<Source>(*tcp_, options_.incarnation, pool_, grants_, counters_);
    TROUPE_TRY(source_->listen());
  }
  receiver_ = std::make_unique<Receiver>(shm_.get(), tcp_.get(), data_port_.get(),
                                         options_.incarnation, pool_, counters_);
  TROUPE_TRY(receiver_->listen());
  return thread_.start(std::move(workers), [this](TimeUs now) {
    ProgressThread::Turn turn;
    turn.active = receiver_->turn(now);
    if (source_) turn.active |= source_->turn();
    turn.deadline = receiver_->next_deadline();
    return turn;
  });
}

bool Transport::Core::idle() {
  bool result = false;
  thread_.call([&] {
    result = receiver_->num_reads() == 0 && (!source_ || source_->idle()) &&
             (!shm_ || !shm_->closing()) && (!tcp_ || !tcp_->closing());
  });
  return result;
}

void Transport::Core::stop() {
  thread_.call([this] {
    receiver_->stop();
    if (source_) source_->stop();
  });
  const TimeUs latest = now_us() + limits::shutdown_us;
  while (!idle()) {
    if (now_us() > latest) {
      log_warning(component, "requests of UCX were still open at shutdown");
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  thread_.stop();
  UcxWorker::dispose(std::move(shm_));
  UcxWorker::dispose(std::move(tcp_));
  pool_.region = {};
}

Result<kv::Region> Transport::Core::allocate_shared(size_t bytes) {
  Result<std::shared_ptr<SharedMemory>> memory = error(Code::internal, "not allocated");
  thread_.call(
      [&] { memory = SharedMemory::allocate(shm_->context(), bytes, options_.incarnation); });
  if (!memory) return std::move(memory).error();
  kv::Region region;
  region.data = (*memory)->data();
  region.bytes = bytes;
  {
    const std::lock_guard lock(mutex_);
    shared_[region.data] = *memory;
  }
  region.keep = std::make_shared<Mapping>(shared_from_this(), std::move(memory).value());
  return region;
}

Result<kv::Region> Transport::Core::allocate(size_t bytes) {
  if (bytes == 0) return error(Code::invalid_argument, "a pool of 0 bytes was asked for");
  if (!shm_) return kv::allocate_region(bytes);
  auto region = allocate_shared(bytes);
  if (region) return region;
  if (!tcp_) return region;
  log_warning(component, concat(region.error().message(),
                                "; using plain memory: peers on this host will read over TCP"));
  return kv::allocate_region(bytes);
}

Status Transport::Core::serve_pool(const kv::Region& region, size_t block_bytes,
                                   uint32_t num_pages) {
  if (region.data == nullptr || block_bytes == 0 || num_pages == 0 ||
      block_bytes > limits::block_bytes_max || region.bytes / block_bytes < num_pages) {
    return error(Code::invalid_argument,
                 concat("a pool of ", num_pages, " pages of ", block_bytes,
                        " bytes does not fit into a region of ", region.bytes, " bytes"),
                 concat("blocks are at most ", limits::block_bytes_max, " bytes"));
  }
  std::shared_ptr<SharedMemory> memory;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = shared_.find(region.data); found != shared_.end()) {
      memory = found->second.lock();
    }
  }
  Status result;
  thread_.call([&] {
    if (pool_.region.data != nullptr) {
      result = error(Code::failed_precondition, "this transport serves a pool already");
      return;
    }
    pool_ = {region, block_bytes, num_pages};
    pool_address_.base = reinterpret_cast<uint64_t>(region.data);
    pool_address_.block_bytes = block_bytes;
    pool_address_.num_pages = num_pages;
    if (memory) {
      pool_address_.stamp = reinterpret_cast<uint64_t>(memory->stamp());
      pool_address_.rkey = memory->rkey();
    }
  });
  return result;
}

void Transport::Core::grant(uint64_t token, kv::PageId page) {
  grants_.grant(token, page);
}

TransportStats Transport::Core::stats() {
  TransportStats stats;
  stats.reads_started = counters_.reads_started;
  stats.reads_done = counters_.reads_done;
  stats.reads_failed = counters_.reads_failed;
  stats.checksum_failures = counters_.checksum_failures;
  stats.reads_timed_out = counters_.reads_timed_out;
  stats.reads_cancelled = counters_.reads_cancelled;
  stats.bytes_same_process = counters_.bytes_by_path[static_cast<size_t>(Path::same_process)];
  stats.bytes_shared_memory = counters_.bytes_by_path[static_cast<size_t>(Path::shared_memory)];
  stats.bytes_tcp = counters_.bytes_by_path[static_cast<size_t>(Path::tcp)];
  stats.blocks_served = counters_.blocks_served;
  stats.bytes_served = counters_.bytes_served;
  stats.wants_refused = counters_.wants_refused;
  stats.frames_dropped = counters_.frames_dropped;
  stats.peers_lost = counters_.peers_lost;
  stats.connections_refused = counters_.connections_refused;
  stats.reads_in_progress = stats.reads_started - stats.reads_done - stats.reads_failed;
  stats.grants = grants_.size();
  return stats;
}

}  // namespace troupe::transport
