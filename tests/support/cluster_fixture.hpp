// A cluster of real processes in a run directory of its own, and the proof that nothing of it
// stays.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "launch/certificates.hpp"
#include "tests/support/cluster_program.hpp"
#include "tests/support/gguf_writer.hpp"

namespace troupe::testing {

using Json = nlohmann::ordered_json;

/// A model small enough to start at once, with room for long sequences.
inline TinyLlamaOptions cluster_model() {
  TinyLlamaOptions options;
  options.context = 16384;
  options.type = model::TensorType::f32;
  return options;
}

struct ClusterSetup {
  std::string model_path;  ///< empty: cluster_model()
  std::string head_extra;  ///< fields of the head's role, e.g. ", port: 4000"
  std::string roles_more;  ///< further entries of roles, e.g. "  - {name: d, run: [draft]}\n"
  std::string more;        ///< further top-level fields, e.g. "transport: {shared_memory: false}"
  std::string kv_memory = "32MiB";
  int decodes = 1;
  bool prefill = true;
  bool apart = false;  ///< directory, router and front are three processes instead of head
  Program::Environment environment;
};

/// Does not start anything by itself: tests of bad input use it without a cluster.
class TestCluster {
 public:
  explicit TestCluster(ClusterSetup setup = {});
  /// Brings down what still runs and checks that nothing is left.
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  /// troupe up; fails the test when it does.
  void up();
  /// troupe down.
  void stop();
  /// stop(), then every check of what may be left.
  void down();

  /// The troupe binary with these arguments, in this cluster's run directory.
  std::unique_ptr<Program> start(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& input = "/dev/null");
  Finished run(const std::vector<std::string>& arguments, int64_t timeout_ms = 60'000);
  /// Runs with --json added; checks that stdout is exactly one JSON object.
  Json json(std::vector<std::string> arguments, int expected_exit = 0);
  [[nodiscard]] Json status();

  [[nodiscard]] std::unique_ptr<actors::Client> client();
  [[nodiscard]] pid_t pid(const std::string& process);
  [[nodiscard]] pid_t supervisor() const { return state()["supervisor_pid"].get<pid_t>(); }
  [[nodiscard]] uint64_t incarnation(const std::string& process);
  /// kill -9, at once.
  void kill(const std::string& process);
  /// The process runs again as a later incarnation and is ready.
  bool is_back(const std::string& process, uint64_t after, int64_t timeout_ms = 20'000);
  /// Nothing runs, waits, is booked or held anywhere, or the status that said otherwise.
  std::string wait_idle(int64_t timeout_ms = 8'000);
  /// A worker as `status --json` shows it.
  [[nodiscard]] Json worker(const std::string& name);

  [[nodiscard]] std::filesystem::path path() const { return path_; }
  [[nodiscard]] std::string model_path() const { return model_path_; }
  [[nodiscard]] std::filesystem::path manifest() const { return path_ / "manifest.yaml"; }

  /// What the logs hold above the level info.
  [[nodiscard]] std::string warnings() const;
  /// The control port of a process.
  [[nodiscard]] uint16_t port(const std::string& process);
  /// Processes whose environment names our run directory.
  [[nodiscard]] std::vector<pid_t> processes() const;
  /// Remembers which shared memory they hold, for the check at the end.
  void note_shared_memory();
  void check_nothing_left();

 private:
  [[nodiscard]] Json state() const;

  ClusterSetup setup_;
  std::filesystem::path path_;
  std::string model_path_;
  std::set<std::string> shared_memory_;
  std::set<uint16_t> ports_;
  int runs_ = 0;
  bool is_up_ = false;
};

/// A client of the cluster with this state file.
std::unique_ptr<actors::Client> client_of(const std::filesystem::path& cluster_state);
/// Nothing runs, waits, is booked or held on any of so many workers, as `status --json` says.
bool is_idle(const Json& status, size_t workers);

/// A request for the tiny models: raw tokens, a fixed length.
actors::GenerateRequest request_of(std::vector<int32_t> tokens, uint32_t max_tokens,
                                   float temperature = 1.0f, uint64_t seed = 7);
/// The i-th of requests of which some share a prefix and some are alone, with lengths on both sides
/// of a block: each has `own_tokens` more of its own than the one before.
actors::GenerateRequest mixed_request(size_t i, size_t own_tokens);
/// `count` token ids, a function of `seed`.
std::vector<int32_t> some_tokens(size_t count, uint64_t seed);

/// The same by everything that check_same compares.
bool same_bits(const actors::ChoiceResult& got, const actors::ChoiceResult& wanted);
/// Equal token ids, log-probabilities (by their bits), text and finish reason.
void check_same(const actors::GenerateResult& got, const actors::GenerateResult& wanted);
void check_same(const actors::ChoiceResult& got, const actors::ChoiceResult& wanted);

/// An embedded node in this process: the undisturbed run that all others must equal.
class Reference {
 public:
  explicit Reference(const std::string& model_path);
  ~Reference();
  actors::GenerateResult run(actors::GenerateRequest request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::testing
