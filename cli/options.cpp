#include "cli/options.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/concat.hpp"
#include "base/sha256.hpp"
#include "cli/flags.hpp"
#include "launch/end_signals.hpp"
#include "library/local_cluster.hpp"

namespace troupe::cli {
namespace {

std::atomic<bool> signal_came{false};

void on_signal(int) {
  signal_came = true;
}

constexpr uint64_t default_kv_bytes = 512u << 20;
constexpr uint64_t kv_bytes_min = 1u << 20;  // as in a manifest
constexpr uint64_t context_max_max = 1u << 24;

Result<Connection> connect_embedded(const ClusterOptions& options) {
  Connection connection;
  actors::NodeOptions node;
  node.name = "local";
  node.roles = {"directory", "router", "front", "prefill", "decode", "draft"};
  node.model_path = options.model_path;
  node.worker = worker_options(options);
  TROUPE_ASSIGN(connection.node, actors::Node::start(node));
  TROUPE_TRY(connection.node->wait_joined(10'000));
  TROUPE_ASSIGN(connection.client, actors::Client::embedded(*connection.node));
  connection.where = options.model_path;
  return connection;
}

std::vector<std::string> kv_type_names() {
  std::vector<std::string> names;
  for (const kv::KvType type : kv::all_kv_types) names.emplace_back(kv::name(type));
  return names;
}

/// `word` is one of kv_type_names().
kv::KvType kv_type(const std::string& word) {
  return *std::find_if(std::begin(kv::all_kv_types), std::end(kv::all_kv_types),
                       [&](kv::KvType type) { return word == kv::name(type); });
}

}  // namespace

std::string model_name_of(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

void add_model_options(CLI::App& command, ClusterOptions& o) {
  add_whole(command, "--threads", o.threads, {0, 256}, "4",
            "compute threads, 0 to 256; 0: all cores (default 0)");
  add_word(command, "--compute", o.compute, {"fast", "exact"},
           "how matrices are multiplied: fast or exact (default fast)");
  const std::vector<std::string> types = kv_type_names();
  add_word(command, "--kv-type", o.kv_type, types,
           "how keys and values are stored: f16, bf16, q8_0 or f32; exact mode and models with an "
           "indexer use f32 instead (default f16)");
  add_word(command, "--kv-type-k", o.kv_type_k, types,
           "how keys are stored; latent attention has one type for both (default: as --kv-type)");
  add_word(command, "--kv-type-v", o.kv_type_v, types,
           "how values are stored (default: as --kv-type)");
  add_bytes(command, "--kv-memory", o.kv_bytes, kv_bytes_min,
            "memory for KV blocks with its unit, e.g. 512MiB (default 512MiB)");
  add_whole(command, "--context-max", o.context_max, {0, context_max_max}, "4096",
            "longest sequence in tokens; 0: what the model was trained for (default 0)");
}

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  add_text(command, "--cluster", options.cluster,
           "name of the running cluster (default: the only one)");
  add_text(command, "--model", options.model_path,
           "a GGUF file or a checkpoint's folder to run inside this process, without any cluster "
           "(default: none)");
  add_model_options(command, options);
}

void add_sampling_options(CLI::App& command, GenerateOptions& o) {
  add_whole(command, "--max-tokens", o.max_tokens, {1, engine::limits::max_tokens_max}, "100",
            "tokens to generate at most (default 256)");
  add_whole(command, "--min-tokens", o.min_tokens, {0, engine::limits::max_tokens_max}, "10",
            "tokens before it may stop (default 0)");
  add_real(command, "--temperature", o.temperature, {0, engine::limits::temperature_max}, "0.8",
           "0 to 100; 0: always the likeliest token (default 0)");
  add_whole(command, "--top-k", o.top_k, {0, INT32_MAX}, "40",
            "draw among so many tokens; 0: off (default 0)");
  add_real(command, "--top-p", o.top_p, {0, 1, true}, "0.9",
           "draw among the likeliest tokens that together have this probability, up to 1; 1: off "
           "(default 1)");
  add_real(command, "--min-p", o.min_p, {0, 1}, "0.05",
           "draw among tokens at least so likely compared with the likeliest, 0 to 1; 0: off "
           "(default 0)");
  add_real(command, "--repetition-penalty", o.repetition_penalty,
           {0, engine::limits::repetition_penalty_max, true}, "1.1",
           "above 0 to 100; 1: off (default 1)");
  add_real(command, "--presence-penalty", o.presence_penalty,
           {-engine::limits::penalty_abs_max, engine::limits::penalty_abs_max}, "0.5",
           "-100 to 100; 0: off (default 0)");
  add_real(command, "--frequency-penalty", o.frequency_penalty,
           {-engine::limits::penalty_abs_max, engine::limits::penalty_abs_max}, "0.5",
           "-100 to 100; 0: off (default 0)");
  detail::add_parsed(command, "--seed", "NUMBER",
                     "64-bit seed of the draws; no effect at temperature 0 (default: drawn once)",
                     [&o](const std::string& value) -> Status {
                       TROUPE_ASSIGN(o.seed, detail::parse_whole("--seed", value, {}, "7"));
                       o.has_seed = true;
                       return {};
                     });
  command.add_option("--stop", o.stop, "a text that ends the answer; may be given several times")
      ->allow_extra_args(false);
  add_text(command, "--system", o.system, "system message (default: the template's)");
  command.add_flag("--ignore-eos", o.ignore_eos, "go on after an end token (default off)");
  command.add_flag("--no-drafts", o.no_drafts,
                   "do not guess tokens ahead; changes speed, never the text (default off)");
}

Status check_flags(const CLI::App& command, const GenerateOptions& o) {
  TROUPE_TRY(check_together(command));
  if (o.min_tokens > o.max_tokens) {
    return error(Code::invalid_argument,
                 concat("--min-tokens ", o.min_tokens, " is more than --max-tokens ", o.max_tokens),
                 "expected at most that");
  }
  for (const char* flag : {"--top-k", "--top-p", "--min-p"}) {
    if (o.temperature > 0 || !is_given(command, flag)) continue;
    return error(
        Code::invalid_argument,
        concat(flag, " means nothing at temperature 0, where the likeliest token is taken"),
        concat("leave it out, or give --temperature above 0, such as --temperature 0.8"));
  }
  return {};
}

actors::GenerateRequest to_request(const GenerateOptions& o) {
  actors::GenerateRequest request;
  request.sampling.max_tokens = o.max_tokens;
  request.sampling.min_tokens = o.min_tokens;
  request.sampling.temperature = o.temperature;
  request.sampling.top_k = o.top_k;
  request.sampling.top_p = o.top_p;
  request.sampling.min_p = o.min_p;
  request.sampling.repetition_penalty = o.repetition_penalty;
  request.sampling.presence_penalty = o.presence_penalty;
  request.sampling.frequency_penalty = o.frequency_penalty;
  request.sampling.ignore_eos = o.ignore_eos;
  request.sampling.top_logprobs = o.top_logprobs;
  request.sampling.seed = o.seed;
  request.has_seed = o.has_seed;
  request.choices = o.choices;
  request.stop = o.stop;
  request.drafts = !o.no_drafts;
  if (!o.system.empty()) request.messages.push_back({"system", o.system});
  return request;
}

cpu::ComputeMode compute_mode(const std::string& word) {
  return word == "exact" ? cpu::ComputeMode::exact : cpu::ComputeMode::fast;
}

actors::WorkerOptions worker_options(const ClusterOptions& options) {
  actors::WorkerOptions worker;
  worker.compute = compute_mode(options.compute);
  worker.kv_types.keys = kv_type(options.kv_type_k.empty() ? options.kv_type : options.kv_type_k);
  worker.kv_types.values = kv_type(options.kv_type_v.empty() ? options.kv_type : options.kv_type_v);
  worker.threads = options.threads;
  worker.kv_bytes = options.kv_bytes == 0 ? default_kv_bytes : options.kv_bytes;
  worker.context_max = options.context_max;
  worker.shared_memory = false;
  worker.tcp = false;
  return worker;
}

Result<Connection> connect(const ClusterOptions& options) {
  if (!options.model_path.empty()) return connect_embedded(options);
  TROUPE_ASSIGN(const library::LocalCluster cluster, library::local_cluster(options.cluster));
  Connection connection;
  TROUPE_ASSIGN(connection.client, actors::Client::connect(cluster.client));
  connection.where = "cluster " + cluster.client.cluster;
  connection.cluster = cluster.client.cluster;
  connection.supervisor = cluster.supervisor;
  return connection;
}

/// Names and bytes of files stand in messages; on a terminal they must be no commands. Lines stay.
static std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n') {
      shown += c;
    } else {
      shown += "\\x" + hex({&byte, 1});
    }
  }
  return shown;
}

int report(const Error& error, bool json) {
  if (json) {
    nlohmann::ordered_json body;
    body["error"] = {{"code", name(error.code)}, {"message", error.what}, {"hint", error.hint}};
    std::cout << body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
  } else {
    std::cerr << "troupe: " << printable(error.message()) << std::endl;
  }
  return error.code == Code::invalid_argument ? 2 : 1;
}

bool interrupted() {
  return signal_came;
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: a read that waits must end
  for (const int number : launch::end_signals()) ::sigaction(number, &action, nullptr);
}

void print_now(const std::string& text) {
  std::cout << text << std::flush;
  if (!std::cout) signal_came = true;
}

void forget_interrupt() {
  signal_came = false;
}

}  // namespace troupe::cli
