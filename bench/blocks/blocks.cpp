// What it costs to name blocks, to find them and to know where they lie: CPU time of one thread.
// bench_blocks [--json]
#include <malloc.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/cpu_time.hpp"
#include "bench/report.hpp"
#include "kv/block_name.hpp"
#include "kv/cluster_index.hpp"
#include "kv/disk_index.hpp"
#include "kv/local_index.hpp"
#include "kv/name_memo.hpp"

using namespace troupe;
using namespace troupe::bench;

namespace {

constexpr int rounds = 15;
constexpr uint32_t tokens_per_block = 64;
constexpr size_t prompt_tokens = 100'000;
constexpr size_t prompt_blocks = 1'000;
constexpr uint32_t indexed = 200'000;  ///< blocks: 12.8 M tokens

constexpr double hash_us_most = 600;
constexpr double continuing_us_most = 30;
constexpr double lookups_least = 5;
constexpr double bytes_most = 64;

std::mt19937_64 dice(1);

std::vector<int32_t> some_tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(dice() % 100'000);
  return tokens;
}

std::vector<kv::BlockName> some_names(size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::vector<kv::BlockName> names(count);
  for (size_t i = 0; i < count; ++i) names[i] = kv::chain({}, std::span(&tokens[i], 1));
  return names;
}

template <class Run>
double micros_of(Run run) {
  const double start = thread_cpu_s();
  run();
  return 1e6 * (thread_cpu_s() - start);
}

size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

Row hashing() {
  const auto tokens = some_tokens(prompt_tokens);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    size_t named = 0;
    times.push_back(micros_of(
        [&] { named = kv::block_names(kv::BlockName(), tokens, tokens_per_block).size(); }));
    if (named != prompt_tokens / tokens_per_block) return row("hash_100k_cold", {-1}, "us");
  }
  return at_most(row("hash_100k_cold", std::move(times), "us"), hash_us_most);
}

/// A session that goes on: each prompt is the one before and some hundred tokens more, while others
/// that begin alike are remembered too.
Row hashing_again() {
  kv::NameMemo memo;
  auto tokens = some_tokens(prompt_tokens);
  for (size_t other = 0; other < 20; ++other) {
    auto begins_alike = tokens;
    begins_alike.resize(prompt_tokens / 20 * (other + 1));
    begins_alike.back() += 1;
    memo.names(kv::BlockName(), begins_alike, tokens_per_block);
  }
  memo.names(kv::BlockName(), tokens, tokens_per_block);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto more = some_tokens(2 * tokens_per_block);
    tokens.insert(tokens.end(), more.begin(), more.end());
    size_t named = 0;
    times.push_back(
        micros_of([&] { named = memo.names(kv::BlockName(), tokens, tokens_per_block).size(); }));
    if (named != tokens.size() / tokens_per_block) return row("hash_100k_continuing", {-1}, "us");
  }
  return at_most(row("hash_100k_continuing", std::move(times), "us"), continuing_us_most);
}

/// Millions a second; `find` says whether a name is known.
template <class Find>
Row lookups(const char* what, std::vector<kv::BlockName> names, Find find) {
  std::shuffle(names.begin(), names.end(), dice);
  std::vector<double> rates;
  size_t found = 0;
  for (int i = 0; i < rounds; ++i) {
    const double micros = micros_of([&] {
      for (const kv::BlockName& name : names) found += find(name) ? 1 : 0;
    });
    rates.push_back(static_cast<double>(names.size()) / micros);
  }
  if (found != rounds * names.size()) rates = {0};
  return at_least(row(what, std::move(rates), "M/s"), lookups_least);
}

Row bytes_each(const char* what, size_t before) {
  const double bytes = static_cast<double>(heap_bytes() - before) / indexed;
  return at_most(row(what, {bytes}, "bytes"), bytes_most);
}

void worker_index(std::vector<Row>& rows, const std::vector<kv::BlockName>& names) {
  const kv::KvLayout layout{.num_layers = 1, .num_kv_heads = 1, .head_dim = 1};
  kv::EventLog events(1);
  kv::Pool pool(kv::allocate_region(indexed * layout.block_bytes()).value(), layout);
  const size_t before = heap_bytes();
  kv::LocalIndex index(pool, events);
  for (size_t i = 0; i < names.size(); ++i) {
    const kv::BlockName parent = i % prompt_blocks == 0 ? kv::BlockName() : names[i - 1];
    const kv::PageId page = *pool.allocate();
    index.insert(names[i], parent, page);
    pool.release(page);
  }
  rows.push_back(bytes_each("bytes_per_block_of_worker", before));
  rows.push_back(lookups("block_lookups_of_worker", names,
                         [&](const auto& name) { return index.find(name).has_value(); }));
}

void router_index(std::vector<Row>& rows, const std::vector<kv::BlockName>& names) {
  const size_t before = heap_bytes();
  kv::ClusterIndex index;
  index.begin("w", 1);
  uint64_t number = 0;
  for (const kv::BlockName& name : names) {
    index.apply("w", 1, {++number, true, kv::Tier::device, name});
  }
  rows.push_back(bytes_each("bytes_per_block_of_router", before));
  // A router asks for whole prompts.
  std::vector<double> rates;
  for (int i = 0; i < rounds; ++i) {
    uint32_t matched = 0;
    const double micros = micros_of([&] { matched = index.match(names).at(0).blocks; });
    rates.push_back(matched / micros);
  }
  rows.push_back(at_least(row("block_lookups_of_router", std::move(rates), "M/s"), lookups_least));
}

void disk_index(std::vector<Row>& rows, const std::vector<kv::BlockName>& names) {
  kv::DiskIndex index;
  for (const kv::BlockName& name : names) index.put({name, name, 0, 0}, {1, 1});
  const double bytes = static_cast<double>(index.bytes()) / indexed;
  rows.push_back(at_most(row("bytes_per_block_of_disk", {bytes}, "bytes"), bytes_most));
  rows.push_back(lookups("block_lookups_of_disk", names,
                         [&](const auto& name) { return index.find(name).has_value(); }));
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  const auto names = some_names(indexed);
  std::vector<Row> rows = {hashing(), hashing_again()};
  worker_index(rows, names);
  router_index(rows, names);
  disk_index(rows, names);
  print("blocks", "one thread", rows, json);
  return 0;
}
