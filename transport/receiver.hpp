// The receiver's side of all paths: reads pages of peers into our pool, checks them, and ends every
// read exactly once and in bounded time. Used by the UCX thread alone. Internal to this folder.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/address.hpp"
#include "transport/counters.hpp"
#include "transport/data_port.hpp"
#include "transport/frames.hpp"
#include "transport/pool_memory.hpp"
#include "transport/pool_view.hpp"
#include "transport/transport.hpp"
#include "transport/ucx.hpp"

namespace troupe::transport {

class Receiver {
 public:
  /// A worker is null where its path is not allowed; `port` is that of `tcp`.
  Receiver(UcxWorker* shm, UcxWorker* tcp, DataPort* port, uint64_t incarnation,
           const PoolView& pool, Counters& counters)
      : shm_(shm),
        tcp_(tcp),
        port_(port),
        incarnation_(incarnation),
        pool_(pool),
        counters_(counters) {}

  Status listen();

  /// Makes the peer; over shared memory it first reads the peer's stamp. `done` is called in this
  /// call or in a later turn().
  void connect(PeerId id, const Address& address, Path path, TimeUs deadline,
               std::function<void(Status)> done);
  void read(PeerId peer, const ReadRequest& request, TimeUs started, TimeUs deadline,
            ReadCallback done);
  void cancel_session(uint64_t token);
  void disconnect(PeerId peer);

  /// Starts what waits, ends what failed or is late, calls the callbacks. True if there is more.
  bool turn(TimeUs now);
  [[nodiscard]] TimeUs next_deadline() const;
  [[nodiscard]] size_t num_reads() const { return reads_.size(); }

  /// Ends everything with `cancelled` and closes all endpoints; turn() until num_reads() is 0.
  void stop();

 private:
  using ReadId = uint64_t;

  struct Read {
    ReadId id = 0;
    PeerId peer = 0;
    Path path = Path::tcp;
    ReadRequest request;
    TimeUs started = 0;
    TimeUs deadline = 0;
    ReadCallback done;
    bool moving = false;  ///< counted in Peer::moving
    uint32_t posted = 0;  ///< gets that may still write the page
    uint64_t pieces_left = 0;
    std::vector<uint8_t> pieces;  ///< 1: here
    uint64_t checked = 0;         ///< pieces that `crc` covers, from the first on
    uint32_t crc = 0;
    std::optional<Error> verdict;  ///< set: it only waits for `posted` to become 0
  };

  struct Peer {
    Address address;
    Path path = Path::tcp;
    std::unique_ptr<Endpoint> endpoint;  ///< null: made by the next read
    ucp_rkey_h rkey = nullptr;
    /// Over shared memory: its pool as this process sees it, once a get has shown that the endpoint
    /// works; null: it cannot be mapped, or is not yet, and gets read it.
    const std::byte* mapped = nullptr;
    uint64_t generation = 0;
    TimeUs last_heard = 0;  ///< over TCP
    uint32_t moving = 0;
    /// Sessions take turns, so that a long one does not delay the others.
    std::deque<uint64_t> turns;
    std::unordered_map<uint64_t, std::deque<ReadId>> waiting;
    std::deque<ReadId> current;  ///< over shared memory: what is being copied
  };

  /// A stamp that is being read. UCX may write it late, so it lives on the heap until then.
  struct Probe {
    PeerId peer;
    TimeUs deadline;
    std::function<void(Status)> done;
    MemoryStamp stamp{0, 0};
    bool finished = false;
    ucs_status_t status = UCS_INPROGRESS;
  };
  /// A get that UCX queued.
  struct Piece {
    Receiver* receiver;
    ReadId read;
    uint64_t index;
  };

  // receiver.cpp: one read from its call to its end
  uint32_t piece_bytes(Path path) const;
  Status check(PeerId peer, const ReadRequest& request) const;
  Read* find(ReadId id);
  Read* next_waiting(Peer& peer);
  /// Copies a piece from `from` into the page and checks it on the way.
  void take_piece(Read& read, uint64_t index, const std::byte* from);
  void piece_arrived(Read& read, uint64_t index);
  void give_up(Read& read, Error why);
  void finish(Read& read, Result<ReadDone> result);
  void set_deadline(Read& read, TimeUs deadline);
  void copy_same_process(Read& read);
  // receiver_peers.cpp: endpoints and what happens when they fail
  Status open(Peer& peer);
  void close(Peer& peer);
  void fail_peer(Peer& peer, PeerId id, const Error& why);
  void handle_down();
  void handle_deadlines(TimeUs now);
  void handle_probes(TimeUs now);
  bool start_waiting(Peer& peer);
  // receiver_shm.cpp
  void probe(PeerId id, Peer& peer, TimeUs deadline, std::function<void(Status)> done);
  bool copy_pieces(Peer& peer);
  void map_pool(Peer& peer);
  void get_piece(Peer& peer, Read& read, uint64_t index);
  // receiver_tcp.cpp
  void want(Peer& peer, Read& read);
  void on_data(std::span<const std::byte> header, const void* data, size_t bytes);
  void on_refused(std::span<const std::byte> header);

  UcxWorker* shm_;
  UcxWorker* tcp_;
  DataPort* port_;
  uint64_t incarnation_;
  const PoolView& pool_;
  Counters& counters_;
  bool stopped_ = false;
  uint64_t last_generation_ = 0;
  ReadId next_read_ = 1;
  std::unordered_map<PeerId, Peer> peers_;
  std::unordered_map<ReadId, std::unique_ptr<Read>> reads_;
  std::set<std::pair<TimeUs, ReadId>> deadlines_;
  std::vector<std::unique_ptr<Probe>> probes_;
  /// Callbacks wait here for the end of the turn: they may call anything.
  std::vector<std::pair<ReadCallback, Result<ReadDone>>> finished_;
};

}  // namespace troupe::transport
