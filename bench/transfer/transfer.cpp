// Moves blocks of a KV pool between two processes over each path, next to memcpy and to UCX alone
// in the same run.
//   bench_transfer [--json] [--blocks N] [--block-bytes B] [--rounds R] [--pool BYTES]
// transfer_4k: the blocks of a prompt of 4,096 tokens, 64 of 64 tokens each unless said otherwise.
// transfer_outofcache: a pool of --pool bytes on each side (1 GiB), 8 MiB a block, read from the
// beginning to the end, again and again. latency_64k: one block of 64 KiB at a time, asked for
// where the one before has ended; what it takes when another thread asks and sleeps is a row of its
// own.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/transfer/ends.hpp"
#include "bench/transfer/raw_ucx.hpp"
#include "transport/environment.hpp"

using namespace troupe;
using namespace troupe::bench;

namespace {

constexpr double share_in_cache_least = 0.8;
constexpr double share_out_of_cache_least = 0.9;
constexpr double latency_ratio_most = 1.5;

Row rate(const char* what, const Shape& shape, const std::vector<double>& seconds) {
  std::vector<double> rates;
  const double bytes = static_cast<double>(shape.block_bytes) * shape.blocks;
  for (double s : seconds) rates.push_back(bytes / s * 1e-9);
  return row(what, std::move(rates), "GB/s");
}

Row ratio(const char* what, const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
  return row(what, std::move(ratios), "ratio");
}

Row micros(const char* what, std::vector<double> seconds) {
  for (double& s : seconds) s *= 1e6;
  return row(what, std::move(seconds), "us");
}

std::vector<Row> run(const Shape& shape, size_t pool_bytes) {
  const Times t = measure(shape);
  std::vector<Row> rows = {
      rate("memcpy", shape, t.copy),
      rate("memcpy and crc", shape, t.checked_copy),
      rate("shared memory", shape, t.shared_memory),
      rate("tcp", shape, t.tcp),
      rate("raw shared memory", shape, t.raw_shared_memory),
      rate("raw tcp", shape, t.raw_tcp),
      at_least(ratio("transfer_4k_share_of_raw", t.raw_shared_memory, t.shared_memory),
               share_in_cache_least),
      at_least(ratio("transfer_4k_tcp_share_of_raw", t.raw_tcp, t.tcp), share_in_cache_least)};
  if (pool_bytes > 0) {
    Shape large{.block_bytes = size_t{8} << 20, .rounds = 5, .tcp = false};
    large.blocks = static_cast<uint32_t>(std::max<size_t>(1, pool_bytes / large.block_bytes));
    const Times far = measure(large);
    rows.push_back(rate("shared memory out of cache", large, far.shared_memory));
    rows.push_back(rate("raw shared memory out of cache", large, far.raw_shared_memory));
    rows.push_back(at_least(
        ratio("transfer_outofcache_share_of_raw", far.raw_shared_memory, far.shared_memory),
        share_out_of_cache_least));
  }
  const Times single =
      measure({.blocks = 64, .block_bytes = 65536, .rounds = 31, .tcp = false, .one_by_one = true});
  rows.push_back(micros("latency_64k with two threads woken", single.from_outside));
  rows.push_back(micros("latency_64k", single.shared_memory));
  rows.push_back(micros("raw latency_64k", single.raw_shared_memory));
  rows.push_back(at_most(ratio("latency_64k_ratio", single.shared_memory, single.raw_shared_memory),
                         latency_ratio_most));
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  size_t pool_bytes = size_t{1} << 30;
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  const char* source_socket = nullptr;
  for (int i = json ? 2 : 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--blocks") shape.blocks = static_cast<uint32_t>(std::atoi(argv[i + 1]));
    if (option == "--block-bytes") shape.block_bytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--rounds") shape.rounds = std::atoi(argv[i + 1]);
    if (option == "--pool") pool_bytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--source") source_socket = argv[i + 1];
  }
  if (shape.blocks == 0 || shape.rounds <= 0 || shape.block_bytes == 0) give_up("bad arguments");
  if (!transport::missing_environment().empty()) {
    for (const auto& [name, value] : transport::required_environment()) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    execv("/proc/self/exe", argv);
    give_up("cannot run itself");
  }
  if (source_socket != nullptr) return run_source(shape, std::atoi(source_socket));
  print("transfer", "two processes", run(shape, pool_bytes), json);
  return 0;
}
