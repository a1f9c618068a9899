#include "bench/gateway/against_llama.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "base/concat.hpp"
#include "bench/gateway/load.hpp"
#include "bench/gateway/server_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::bench {
namespace {

constexpr size_t prompt_tokens = 512, output_tokens = 64;
constexpr size_t long_tokens = 4'048, end_tokens = 40, sharers = 8;
/// A hot prefix is asked with so many ends, one after another: one answer alone is mostly noise.
constexpr size_t hot_ends = 5;
constexpr std::array<size_t, 3> at_once = {1, 8, 32};

/// Ordinary tokens of the model; the same for the same seed.
std::vector<int> tokens(size_t count, uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<int> ids(count);
  for (int& id : ids) id = static_cast<int>(100 + dice() % 40'000);
  return ids;
}

std::string ask_for(const std::vector<int>& prompt, size_t output) {
  std::string ids;
  for (const int id : prompt) ids += concat(ids.empty() ? "" : ",", id);
  return post_bytes("/v1/completions",
                    concat(R"({"model": "m", "prompt": [)", ids, R"(], "max_tokens": )", output,
                           R"(, "temperature": 0, "ignore_eos": true, "stream": true})"));
}

std::vector<std::string> sharing(const std::vector<int>& prefix, size_t count, uint64_t seed) {
  std::vector<std::string> requests;
  for (size_t i = 0; i < count; ++i) {
    std::vector<int> prompt = prefix;
    for (const int id : tokens(end_tokens, seed + i)) prompt.push_back(id);
    requests.push_back(ask_for(prompt, 16));
  }
  return requests;
}

double share(const LoadResult& load, double q) {
  std::vector<double> ttft;
  for (const Reply& reply : load.replies) ttft.push_back(reply.ttft_ms());
  std::ranges::sort(ttft);
  const auto at = static_cast<size_t>(q * static_cast<double>(ttft.size() - 1) + 0.5);
  return ttft[at];
}

double itl_ms(const LoadResult& load) {
  std::vector<double> itl;
  for (const Reply& reply : load.replies) itl.push_back(reply.itl_ms());
  std::ranges::sort(itl);
  return itl[itl.size() / 2];
}

/// What one server did in one round, by name.
using Figures = std::map<std::string, double>;

LoadResult load_on(const ServerProgram& server, const std::vector<std::string>& requests,
                   size_t count) {
  LoadResult load = run_load(server.port(), requests, count);
  if (load.all_ok()) return load;
  std::fprintf(stderr, "bench_gateway: a server did not answer every request\n");
  std::exit(1);
}

Figures measure(const ServerProgram& server, uint64_t round) {
  Figures figures;
  uint64_t seed = (round + 1) << 32;
  for (const size_t count : at_once) {
    std::vector<std::string> requests;
    const size_t num_requests = std::max<size_t>(4, count);
    for (size_t i = 0; i < num_requests; ++i) {
      requests.push_back(ask_for(tokens(prompt_tokens, ++seed), output_tokens));
    }
    const LoadResult load = load_on(server, requests, count);
    const std::string name = concat("_c", count);
    figures["ttft" + name] = share(load, 0.5);
    figures["ttft_p99" + name] = share(load, 0.99);
    figures["itl" + name] = itl_ms(load);
    figures["tokens_per_s" + name] =
        static_cast<double>(num_requests * output_tokens) / load.seconds;
  }
  const std::vector<int> prefix = tokens(long_tokens, ++seed);
  figures["ttft_cold_prefix"] = share(load_on(server, sharing(prefix, 1, seed + 100), 1), 0.5);
  figures["ttft_hot_prefix"] =
      share(load_on(server, sharing(prefix, hot_ends, seed + 200), 1), 0.5);
  figures["ttft_hot_prefix_8"] =
      share(load_on(server, sharing(prefix, sharers, seed + 300), sharers), 0.5);
  return figures;
}

using Rounds = std::vector<Figures>;

Row ratio(const std::string& name, const Rounds& ours, const Rounds& theirs,
          const std::string& key) {
  std::vector<double> values;
  for (size_t i = 0; i < ours.size(); ++i) values.push_back(ours[i].at(key) / theirs[i].at(key));
  return row(name, std::move(values), "ratio");
}

std::vector<Row> to_rows(const Rounds& ours, const Rounds& theirs) {
  std::vector<Row> rows;
  for (const size_t count : at_once) {
    const std::string name = concat("_c", count);
    rows.push_back(at_most(ratio("ttft_ratio" + name, ours, theirs, "ttft" + name), 0.55));
    rows.push_back(
        at_least(ratio("tokens_per_s_ratio" + name, ours, theirs, "tokens_per_s" + name), 2));
  }
  rows.push_back(at_most(ratio("cold_prefix_ttft_ratio", ours, theirs, "ttft_cold_prefix"), 0.55));
  rows.push_back(at_most(ratio("hot_prefix_ttft_ratio", ours, theirs, "ttft_hot_prefix"), 0.2));
  rows.push_back(
      at_most(ratio("hot_prefix_8_sharers_ttft_ratio", ours, theirs, "ttft_hot_prefix_8"), 0.2));
  std::vector<double> spread;
  for (const Figures& figures : ours) {
    spread.push_back(figures.at("ttft_p99_c32") / figures.at("ttft_c32"));
  }
  rows.push_back(at_most(row("troupe/ttft p99 to p50_c32", std::move(spread), "ratio"), 3));
  for (const bool is_ours : {true, false}) {
    for (const auto& [key, value] : ours.at(0)) {
      std::vector<double> values;
      for (const Figures& figures : is_ours ? ours : theirs) values.push_back(figures.at(key));
      rows.push_back(row((is_ours ? "troupe/" : "llama-server/") + key, std::move(values),
                         key.starts_with("tokens") ? "tokens/s" : "ms"));
    }
  }
  return rows;
}

}  // namespace

std::vector<Row> against_llama(const AgainstOptions& options) {
  const testing::TemporaryFolder folder;
  ::setenv("TROUPE_RUN_DIR", folder.path().c_str(), 1);
  const uint16_t ours_at = free_port();
  const ServerProgram ours({options.troupe, "serve", options.model, "--name", "bench-gateway",
                            "--model-name", "m", "--listen", concat("127.0.0.1:", ours_at)},
                           ours_at, "/health/ready", folder.path() + "/troupe.log");
  const uint16_t theirs_at = free_port();
  // Every slot has room for the long prompt, and every connection a thread.
  const ServerProgram theirs(
      {options.llama_server, "-m", options.model, "--host", "127.0.0.1", "--port",
       concat(theirs_at), "-np", "8", "-c", concat(8 * 4'352), "-t",
       concat(std::thread::hardware_concurrency()), "--threads-http", "40"},
      theirs_at, "/health", folder.path() + "/llama-server.log");
  Rounds of_ours, of_theirs;
  for (int round = 0; round < options.rounds; ++round) {
    const auto seed = static_cast<uint64_t>(round);
    if (round % 2 == 0) of_ours.push_back(measure(ours, seed));
    of_theirs.push_back(measure(theirs, seed));
    if (round % 2 == 1) of_ours.push_back(measure(ours, seed));
    std::fprintf(stderr, "round %d of %d\n", round + 1, options.rounds);
  }
  return to_rows(of_ours, of_theirs);
}

}  // namespace troupe::bench
