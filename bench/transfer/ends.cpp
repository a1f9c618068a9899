#include "bench/transfer/ends.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <future>
#include <string>

#include "base/clock.hpp"
#include "base/crc32c.hpp"
#include "bench/transfer/raw_ucx.hpp"
#include "transport/limits.hpp"
#include "transport/transport.hpp"

namespace troupe::bench {
namespace {

using namespace transport;

constexpr uint64_t token = 1;
constexpr size_t checked_piece_bytes = 262144;

struct End {
  std::unique_ptr<Transport> transport;
  kv::Region region;
};

End make_end(const Shape& shape) {
  transport::TransportOptions options;
  options.key = "the key of this benchmark";
  auto transport = Transport::start(options);
  if (!transport) give_up(transport.error().message());
  auto region = (*transport)->allocate(shape.block_bytes * shape.blocks);
  if (!region) give_up(region.error().message());
  std::memset(region->data, 0, region->bytes);
  if (Status s = (*transport)->serve_pool(*region, shape.block_bytes, shape.blocks); !s) {
    give_up(s.error().message());
  }
  return {std::move(transport).value(), std::move(region).value()};
}

void fill(std::byte* page, size_t bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes; ++i) page[i] = static_cast<std::byte>(i * 31 + seed);
}

double since(TimeUs start) {
  return static_cast<double>(now_us() - start) * 1e-6;
}

class Reader {
 public:
  Reader(const Shape& shape, int socket, const std::string& address)
      : shape_(shape),
        end_(make_end(shape)),
        plain_(shape.block_bytes * shape.blocks, std::byte{1}),
        raw_(socket, plain_.data(), plain_.size()) {
    std::vector<std::byte> page(shape.block_bytes);
    for (uint32_t i = 0; i < shape.blocks; ++i) {
      fill(page.data(), page.size(), i);
      checksums_.push_back(crc32c(page));
    }
    shared_memory_ = connect(address, PathPreference::shared_memory);
    if (shape.tcp) tcp_ = connect(address, PathPreference::tcp);
  }

  Times run() {
    Times times;
    for (int round = 0; round < shape_.rounds; ++round) {
      if (!shape_.one_by_one) copy(times);
      read(shared_memory_, times.shared_memory);
      raw_get(times.raw_shared_memory);
      if (shape_.one_by_one) read_from_outside(shared_memory_, times.from_outside);
      if (!shape_.tcp) continue;
      read(tcp_, times.tcp);
      const TimeUs start = now_us();
      raw_.receive_all(limits::tcp_piece_bytes);
      times.raw_tcp.push_back(since(start));
    }
    std::fprintf(stderr, "checksum of the copies %08x\n", sum_);
    return times;
  }

 private:
  PeerId connect(const std::string& address, PathPreference preference) {
    auto peer = end_.transport->connect(address, preference);
    if (!peer) give_up(peer.error().message());
    return *peer;
  }

  void copy(Times& times) {
    TimeUs start = now_us();
    std::memcpy(end_.region.data, plain_.data(), plain_.size());
    times.copy.push_back(since(start));
    start = now_us();
    for (size_t at = 0; at < plain_.size(); at += checked_piece_bytes) {
      const size_t n = std::min(checked_piece_bytes, plain_.size() - at);
      std::memcpy(end_.region.data + at, plain_.data() + at, n);
      sum_ ^= crc32c({end_.region.data + at, n});
    }
    times.checked_copy.push_back(since(start));
  }

  /// Reads blocks [first, end) and waits for them.
  void read_blocks(PeerId peer, uint32_t first, uint32_t end) {
    std::promise<void> done;
    std::atomic<uint32_t> left{end - first};
    for (uint32_t i = first; i < end; ++i) {
      end_.transport->read(peer, {token, i, i, checksums_[i]}, [&](Result<ReadDone> result) {
        if (!result) give_up(result.error().message());
        if (--left == 0) done.set_value();
      });
    }
    done.get_future().wait();
  }

  /// Reads block `i` and, where it has ended, the next one.
  void read_from(PeerId peer, uint32_t i, std::promise<void>& done) {
    end_.transport->read(peer, {token, i, i, checksums_[i]},
                         [this, peer, i, &done](Result<ReadDone> result) {
                           if (!result) give_up(result.error().message());
                           if (i + 1 < shape_.blocks) {
                             read_from(peer, i + 1, done);
                           } else {
                             done.set_value();
                           }
                         });
  }

  void read(PeerId peer, std::vector<double>& seconds) {
    const TimeUs start = now_us();
    if (shape_.one_by_one) {
      std::promise<void> done;
      read_from(peer, 0, done);
      done.get_future().wait();
    } else {
      read_blocks(peer, 0, shape_.blocks);
    }
    seconds.push_back(since(start) / (shape_.one_by_one ? shape_.blocks : 1));
  }

  /// Each asked for, and waited for, by a thread that sleeps meanwhile.
  void read_from_outside(PeerId peer, std::vector<double>& seconds) {
    const TimeUs start = now_us();
    for (uint32_t i = 0; i < shape_.blocks; ++i) read_blocks(peer, i, i + 1);
    seconds.push_back(since(start) / shape_.blocks);
  }

  void raw_get(std::vector<double>& seconds) {
    const TimeUs start = now_us();
    for (uint32_t i = 0; i < shape_.blocks; ++i) {
      raw_.get(i * shape_.block_bytes, shape_.block_bytes);
    }
    seconds.push_back(since(start) / (shape_.one_by_one ? shape_.blocks : 1));
  }

  Shape shape_;
  End end_;
  std::vector<std::byte> plain_;
  RawReader raw_;
  std::vector<uint32_t> checksums_;
  PeerId shared_memory_ = 0, tcp_ = 0;
  uint32_t sum_ = 0;  ///< of the copies, so that they are made
};

}  // namespace

int run_source(const Shape& shape, int socket) {
  End end = make_end(shape);
  for (uint32_t i = 0; i < shape.blocks; ++i) {
    fill(end.region.data + i * shape.block_bytes, shape.block_bytes, i);
    end.transport->grant(token, i);
  }
  const std::string address = end.transport->address();
  if (::write(socket, address.data(), address.size()) < 0) return 1;
  RawSource raw(socket, shape.block_bytes * shape.blocks);
  raw.serve();
  return 0;
}

Times measure(const Shape& shape) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) give_up("no socket pair");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pair[0]);
    ::execl("/proc/self/exe", "bench_transfer", "--source", std::to_string(pair[1]).c_str(),
            "--blocks", std::to_string(shape.blocks).c_str(), "--block-bytes",
            std::to_string(shape.block_bytes).c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(pair[1]);
  std::string address(8192, '\0');
  const ssize_t size = ::read(pair[0], address.data(), address.size());
  if (size <= 0) give_up("the source did not start");
  address.resize(static_cast<size_t>(size));
  Times times = Reader(shape, pair[0], address).run();
  ::close(pair[0]);
  ::waitpid(child, nullptr, 0);
  return times;
}

}  // namespace troupe::bench
