// Command line options that several commands share. Every flag says its default and unit.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "actors/node.hpp"
#include "base/result.hpp"
#include "launch/process_id.hpp"

namespace troupe::cli {

/// Which cluster a command talks to.
struct ClusterOptions {
  std::string cluster;     ///< empty: the only one that runs
  std::string model_path;  ///< set: no cluster, the model runs inside this process
  int threads = 0;
  std::string compute = "fast";
  std::string kv_type = "f16";
  std::string kv_type_k, kv_type_v;  ///< empty: as kv_type
  uint64_t kv_bytes = 0;
  uint32_t context_max = 0;
};
void add_cluster_options(CLI::App& command, ClusterOptions& options);
/// The flags that say how a model runs inside this process.
void add_model_options(CLI::App& command, ClusterOptions& options);

/// What clients call a model unless they are told otherwise: the file's name without .gguf, or the
/// folder's.
std::string model_name_of(const std::string& path);

/// How to generate.
struct GenerateOptions {
  uint32_t max_tokens = 256;
  float temperature = 0.0f;
  int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  uint32_t min_tokens = 0;
  bool ignore_eos = false;
  uint64_t seed = 0;
  bool has_seed = false;
  uint32_t choices = 1;
  std::vector<std::string> stop;
  std::string system;
  uint32_t top_logprobs = 0;
  bool no_drafts = false;
};
/// All of them but --n and --top-logprobs, which only some commands can show.
void add_sampling_options(CLI::App& command, GenerateOptions& options);
/// Flags that are right one by one and wrong together.
Status check_flags(const CLI::App& command, const GenerateOptions& options);
/// Fills everything but the prompt.
actors::GenerateRequest to_request(const GenerateOptions& options);

/// A client, and the node when the model runs inside this process.
struct Connection {
  std::unique_ptr<actors::Node> node;
  std::unique_ptr<actors::Client> client;
  std::string where;    ///< "cluster quickstart" or the model's path
  std::string cluster;  ///< its name on this machine; empty when the model runs in this process
  launch::ProcessId supervisor;  ///< of that cluster
};
/// Errors: not_found (no cluster runs: says how to start one), what the model is refused for.
Result<Connection> connect(const ClusterOptions& options);

/// What --compute says: exact, or else fast.
cpu::ComputeMode compute_mode(const std::string& word);

/// Worker options from the flags.
actors::WorkerOptions worker_options(const ClusterOptions& options);

/// Prints the error on stderr, or as {"error": {code, message, hint}} on stdout; gives the exit
/// status: 2 for a mistake of the caller, 1 for everything else.
int report(const Error& error, bool json);

/// Writes at once. What can't be written (nobody reads any more, a full disk) counts as an
/// interrupt: nothing that is computed further would be seen.
void print_now(const std::string& text);

/// Set by SIGINT, SIGTERM and SIGHUP once install_signal_handlers() was called. A read from the
/// terminal that waits meanwhile ends.
bool interrupted();
void install_signal_handlers();
/// Makes interrupted() false again.
void forget_interrupt();

}  // namespace troupe::cli
