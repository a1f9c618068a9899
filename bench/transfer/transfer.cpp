// Moves blocks of a KV pool between two processes over each path, next to memcpy in the same run.
// bench_transfer [--json] [--blocks N] [--block-bytes B] [--rounds R]
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/crc32c.hpp"
#include "bench/report.hpp"
#include "transport/transport.hpp"

using namespace troupe;
using namespace troupe::transport;

namespace {

struct Setup {
  uint32_t blocks = 64;
  size_t block_bytes = 1474560;  ///< SmolLM2: 64 tokens in F16
  int rounds = 15;
  bool json = false;
};

constexpr uint64_t token = 1;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_transfer: %s\n", what.c_str());
  std::exit(1);
}

struct End {
  std::unique_ptr<Transport> transport;
  kv::Region region;
};

End make_end(const Setup& setup) {
  auto transport = Transport::start({});
  if (!transport) fail(transport.error().message());
  auto region = (*transport)->allocate(setup.block_bytes * setup.blocks);
  if (!region) fail(region.error().message());
  std::memset(region->data, 0, region->bytes);
  if (Status s = (*transport)->serve_pool(*region, setup.block_bytes, setup.blocks); !s) {
    fail(s.error().message());
  }
  return {std::move(transport).value(), std::move(region).value()};
}

void fill(std::byte* page, size_t bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes; ++i) page[i] = static_cast<std::byte>(i * 31 + seed);
}

int run_source(const Setup& setup, int fd) {
  End end = make_end(setup);
  for (uint32_t i = 0; i < setup.blocks; ++i) {
    fill(end.region.data + i * setup.block_bytes, setup.block_bytes, i);
    end.transport->grant(token, i);
  }
  const std::string address = end.transport->address();
  if (write(fd, address.data(), address.size()) < 0) return 1;
  char byte;
  while (read(fd, &byte, 1) > 0) {
  }
  return 0;
}

/// Seconds for all blocks, one round.
double read_all(const Setup& setup, End& end, PeerId peer, const std::vector<uint32_t>& checksums) {
  std::promise<void> done;
  std::atomic<uint32_t> left{setup.blocks};
  const TimeUs start = now_us();
  for (uint32_t i = 0; i < setup.blocks; ++i) {
    end.transport->read(peer, {token, i, i, checksums[i]}, [&](Result<ReadDone> result) {
      if (!result) fail(result.error().message());
      if (--left == 0) done.set_value();
    });
  }
  done.get_future().wait();
  return static_cast<double>(now_us() - start) * 1e-6;
}

bench::Row rate(const char* what, const Setup& setup, const std::vector<double>& seconds) {
  std::vector<double> rates;
  const double bytes = static_cast<double>(setup.block_bytes) * setup.blocks;
  for (double s : seconds) rates.push_back(bytes / s * 1e-9);
  return bench::row(what, std::move(rates), "GB/s");
}

void run_receiver(const Setup& setup, const std::string& address) {
  End end = make_end(setup);
  std::vector<uint32_t> checksums;
  std::vector<std::byte> page(setup.block_bytes);
  for (uint32_t i = 0; i < setup.blocks; ++i) {
    fill(page.data(), page.size(), i);
    checksums.push_back(crc32c(page));
  }
  std::vector<std::byte> plain(setup.block_bytes * setup.blocks, std::byte{1});
  std::vector<double> copies;
  std::vector<double> verified_copies;
  std::vector<double> reads[2];
  PeerId peers[2];
  for (int path = 0; path < 2; ++path) {
    auto peer = end.transport->connect(
        address, path == 0 ? PathPreference::shared_memory : PathPreference::tcp);
    if (!peer) fail(peer.error().message());
    peers[path] = *peer;
  }
  uint32_t sum = 0;
  for (int round = 0; round < setup.rounds; ++round) {
    TimeUs start = now_us();
    std::memcpy(end.region.data, plain.data(), plain.size());
    copies.push_back(static_cast<double>(now_us() - start) * 1e-6);
    start = now_us();
    for (size_t at = 0; at < plain.size(); at += 262144) {
      const size_t n = std::min<size_t>(262144, plain.size() - at);
      std::memcpy(end.region.data + at, plain.data() + at, n);
      sum ^= crc32c({end.region.data + at, n});
    }
    verified_copies.push_back(static_cast<double>(now_us() - start) * 1e-6);
    for (int path = 0; path < 2; ++path) {
      reads[path].push_back(read_all(setup, end, peers[path], checksums));
    }
  }
  std::fprintf(stderr, "checksum of the copies %08x\n", sum);
  bench::print("transfer", "two processes",
               {rate("memcpy", setup, copies), rate("memcpy and crc", setup, verified_copies),
                rate("shared memory", setup, reads[0]), rate("tcp", setup, reads[1])},
               setup.json);
}

}  // namespace

int main(int argc, char** argv) {
  Setup setup;
  const char* child_fd = nullptr;
  if (argc > 1 && std::string(argv[1]) == "--json") setup.json = true;
  for (int i = setup.json ? 2 : 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--blocks") setup.blocks = static_cast<uint32_t>(std::atoi(argv[i + 1]));
    if (option == "--block-bytes") setup.block_bytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--rounds") setup.rounds = std::atoi(argv[i + 1]);
    if (option == "--source") child_fd = argv[i + 1];
  }
  if (setup.blocks == 0 || setup.rounds <= 0 || setup.block_bytes == 0) fail("bad arguments");
  if (!missing_environment().empty()) {
    for (const auto& [name, value] : required_environment()) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    execv("/proc/self/exe", argv);
    fail("cannot run itself");
  }
  if (child_fd != nullptr) return run_source(setup, std::atoi(child_fd));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) fail("no socket pair");
  const pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    execl("/proc/self/exe", "bench_transfer", "--source", std::to_string(pair[1]).c_str(),
          "--blocks", std::to_string(setup.blocks).c_str(), "--block-bytes",
          std::to_string(setup.block_bytes).c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pair[1]);
  std::string address(8192, '\0');
  const ssize_t size = read(pair[0], address.data(), address.size());
  if (size <= 0) fail("the source did not start");
  address.resize(static_cast<size_t>(size));
  run_receiver(setup, address);
  close(pair[0]);
  waitpid(child, nullptr, 0);
  return 0;
}
