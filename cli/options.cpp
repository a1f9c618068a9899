#include "cli/options.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/concat.hpp"
#include "launch/certificates.hpp"
#include "launch/cluster.hpp"

namespace troupe::cli {
namespace {

std::atomic<bool> signal_came{false};

void on_signal(int) {
  signal_came = true;
}

constexpr uint64_t default_kv_bytes = 512u << 20;

Result<Connection> connect_embedded(const ClusterOptions& options) {
  Connection connection;
  actors::NodeOptions node;
  node.name = "local";
  node.roles = {"directory", "router", "front", "prefill", "decode", "draft"};
  node.model_path = options.model_path;
  TROUPE_ASSIGN(node.worker, worker_options(options));
  TROUPE_ASSIGN(connection.node, actors::Node::start(node));
  TROUPE_TRY(connection.node->wait_joined(10'000));
  TROUPE_ASSIGN(connection.client, actors::Client::embedded(*connection.node));
  connection.where = options.model_path;
  return connection;
}

}  // namespace

void add_model_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("--threads", options.threads, "compute threads; 0: all cores (default 0)")
      ->check(CLI::Range(0, 256));
  command.add_option("--compute", options.compute, "fast or exact (default fast)");
  command.add_option("--kv-type", options.kv_type, "f16 or f32 (default f16)");
  command
      .add_option("--kv-memory", options.kv_bytes,
                  "memory for KV blocks, e.g. 512MiB (default 512MiB)")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--context-max", options.context_max,
                     "longest sequence in tokens; 0: what the model was trained for (default 0)");
}

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("--cluster", options.cluster,
                     "name of the running cluster (default: the only one)");
  command.add_option("--model", options.model_path,
                     "a GGUF file to run inside this process, without any cluster");
  add_model_options(command, options);
}

void add_generate_options(CLI::App& command, GenerateOptions& o) {
  command.add_option("--max-tokens", o.max_tokens, "tokens to generate at most (default 256)");
  command.add_option("--min-tokens", o.min_tokens, "tokens before it may stop (default 0)");
  command.add_option("--temperature", o.temperature, "0: greedy (default 0)");
  command.add_option("--top-k", o.top_k, "0: off (default 0)");
  command.add_option("--top-p", o.top_p, "1: off (default 1)");
  command.add_option("--min-p", o.min_p, "0: off (default 0)");
  command.add_option("--repetition-penalty", o.repetition_penalty, "1: off (default 1)");
  command.add_option("--presence-penalty", o.presence_penalty, "0: off (default 0)");
  command.add_option("--frequency-penalty", o.frequency_penalty, "0: off (default 0)");
  command.add_option_function<std::string>(
      "--seed",
      [&o](const std::string& text) {
        const char* end = text.data() + text.size();
        const auto [stop, failure] = std::from_chars(text.data(), end, o.seed);
        if (failure != std::errc() || stop != end) {
          throw CLI::ValidationError("--seed is " + text, "a whole number from 0 to 2^64 - 1");
        }
        o.has_seed = true;
      },
      "64-bit seed of the draws (default: drawn once)");
  command.add_option("--n", o.choices, "how many answers (default 1)");
  command.add_option("--stop", o.stop, "a text that ends the answer; may be given several times")
      ->allow_extra_args(false);
  command.add_option("--system", o.system, "system message (default: the template's)");
  command.add_option("--top-logprobs", o.top_logprobs,
                     "alternatives reported per token, 0 to 20 (default 0)");
  command.add_flag("--ignore-eos", o.ignore_eos, "go on after an end token (default off)");
  command.add_flag("--no-drafts", o.no_drafts,
                   "do not guess tokens ahead; changes speed, never the text (default off)");
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

Result<actors::WorkerOptions> worker_options(const ClusterOptions& options) {
  actors::WorkerOptions worker;
  if (options.compute == "exact") {
    worker.compute = cpu::ComputeMode::exact;
  } else if (options.compute != "fast") {
    return error(Code::invalid_argument, concat("--compute is \"", options.compute, "\""),
                 "fast or exact");
  }
  if (options.kv_type == "f32") {
    worker.kv_type = kv::KvType::f32;
  } else if (options.kv_type != "f16") {
    return error(Code::invalid_argument, concat("--kv-type is \"", options.kv_type, "\""),
                 "f16 or f32");
  }
  worker.threads = options.threads;
  worker.kv_bytes = options.kv_bytes == 0 ? default_kv_bytes : options.kv_bytes;
  worker.context_max = options.context_max;
  worker.shared_memory = false;
  worker.tcp = false;
  return worker;
}

Result<actors::ClientOptions> client_options(const std::string& cluster) {
  TROUPE_ASSIGN(const launch::ClusterState state, launch::status(cluster));
  if (state.is_stale) {
    return error(Code::unavailable,
                 concat("cluster ", state.name, " is not running: its supervisor died"),
                 concat("troupe down ", state.name, " tidies up; then start it again"));
  }
  const auto files = launch::certificate_files(state.certificates, "client");
  actors::ClientOptions client;
  client.cluster = state.name;
  client.directory_host = state.directory_host;
  client.directory_port = state.directory_port;
  client.tls = {files.certificate, files.key, files.authority};
  return client;
}

Result<Connection> connect(const ClusterOptions& options) {
  if (!options.model_path.empty()) return connect_embedded(options);
  TROUPE_ASSIGN(const actors::ClientOptions client, client_options(options.cluster));
  Connection connection;
  TROUPE_ASSIGN(connection.client, actors::Client::connect(client));
  connection.where = "cluster " + client.cluster;
  return connection;
}

int report(const Error& error, bool json) {
  if (json) {
    nlohmann::ordered_json body;
    body["error"] = {{"code", name(error.code)}, {"message", error.what}, {"hint", error.hint}};
    std::cout << body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
  } else {
    std::cerr << "troupe: " << error.message() << std::endl;
  }
  return error.code == Code::invalid_argument ? 2 : 1;
}

bool interrupted() {
  return signal_came;
}

void install_signal_handlers() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

}  // namespace troupe::cli
