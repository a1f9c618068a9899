// The transport of simulated workers and stores: reads of pages between their pools that take time,
// fail, bring wrong bytes, and write the reader's page until they are over. No CAF.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "actors/transport_ports.hpp"
#include "kv/pool.hpp"
#include "tests/sim/links.hpp"

namespace troupe::sim {

/// Chances per read.
struct ReadFaults {
  double fail = 0;
  double wrong_bytes = 0;
  double silent = 0;  ///< ends with its time-out only
  TimeUs extra_us = 0;
};

/// The pages of one process.
struct PageMemory {
  std::function<std::byte*(kv::PageId)> page;
  uint32_t num_pages = 0;
  size_t block_bytes = 0;
  /// Nobody else may get the page now.
  std::function<bool(kv::PageId)> is_held;
};
PageMemory memory_of(kv::Pool& pool);

class Reads {
 public:
  Reads(Events& events, Random& random, Links& links)
      : events_(events), random_(random), links_(links) {}

  /// The memory must live as long as this, longer than the process.
  actors::TransportPorts add(LifeId life, PageMemory memory);
  [[nodiscard]] static std::string address(LifeId life);
  /// Pages that sessions may read from this worker now.
  [[nodiscard]] size_t num_granted(LifeId life) const;
  [[nodiscard]] size_t num_running(LifeId reader) const;
  /// A dead process that this one is still connected to; 0: none.
  [[nodiscard]] LifeId dead_peer(LifeId life) const;

  /// Pages that may be read or are being written must be held: empty, or what is not.
  [[nodiscard]] std::string unheld(LifeId life) const;

  ReadFaults faults;
  uint64_t done = 0, failed = 0;

 private:
  struct Worker {
    PageMemory memory;
    std::set<std::pair<uint64_t, kv::PageId>> granted;
    std::set<LifeId> peers;  ///< connected and not let go
  };
  struct Read {
    LifeId reader = 0;
    LifeId source = 0;
    transport::ReadRequest request;
    transport::ReadCallback callback;
    TimeUs started_us = 0;
  };

  void connect(LifeId from, const std::string& address,
               std::function<void(Result<transport::PeerId>)> over);
  void start(LifeId reader, LifeId source, const transport::ReadRequest& request,
             transport::ReadCallback callback);
  void cancel(LifeId reader, uint64_t session);
  void copy(const Read& read, size_t bytes);
  /// Copies, verifies, and says what came of it.
  void finish(uint64_t id);
  void end(uint64_t id, Result<transport::ReadDone> result);

  Events& events_;
  Random& random_;
  Links& links_;
  std::map<LifeId, Worker> workers_;
  std::map<uint64_t, Read> running_;
  uint64_t last_read_ = 0;
};

}  // namespace troupe::sim
