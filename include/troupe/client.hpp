// The client of a running Troupe cluster, for programs in C++20: connect, generate, cancel.
//
// A client owns its requests: when a worker dies, the request goes on elsewhere, and the stream
// continues without a lost, repeated or changed byte. Errors are values (troupe::Result).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe {

struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

/// What to generate: exactly one of text, messages and token_ids.
struct Request {
  std::optional<std::string> text;    ///< continued as it stands, without a chat template
  std::vector<ChatMessage> messages;  ///< rendered by the model's chat template
  std::vector<int32_t> token_ids;

  uint32_t max_tokens = 256;
  uint32_t min_tokens = 0;
  float temperature = 1.0f;  ///< 0: always the most probable token
  int32_t top_k = 0;         ///< 0: off
  float top_p = 1.0f;        ///< 1: off
  float min_p = 0.0f;        ///< 0: off
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  std::vector<std::pair<int32_t, float>> logit_bias;  ///< token id, what is added to its logit
  std::optional<uint64_t> seed;                       ///< absent: drawn, and told in the reply
  uint32_t choices = 1;
  std::vector<std::string> stop;  ///< strings that end the output; not part of it
  uint32_t top_logprobs = 0;      ///< alternatives told per token, at most 20
  bool ignore_eos = false;
  std::string model;  ///< empty: the cluster's only one
};

/// New output of one choice.
struct Delta {
  uint32_t choice = 0;
  std::vector<int32_t> token_ids;
  std::vector<float> logprobs;  ///< one per token
  std::string text;             ///< whole UTF-8 characters
};

/// The whole output of one choice.
struct Choice {
  std::string text;
  std::vector<int32_t> token_ids;
  std::vector<float> logprobs;
  std::vector<std::vector<std::pair<int32_t, float>>> top_logprobs;
  std::string finish_reason;  ///< "stop", "length" or "cancelled"
};

/// A request that ended.
struct Reply {
  std::vector<Choice> choices;
  uint64_t seed = 0;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  ///< of the prompt, taken over from a cache
  uint32_t output_tokens = 0;  ///< of all choices
  double ttft_ms = 0;          ///< until the first token
  double tokens_per_s = 0;     ///< after the first token, all choices together
  std::string prefill_worker;  ///< empty: the decode worker computed the prompt
  std::string decode_worker;
  uint32_t attempts = 1;  ///< workers that the request was given to, one after the other
};

/// Which cluster. The default is the only one that runs on this machine for this user.
struct ClientOptions {
  std::string cluster;  ///< a name as `troupe status` prints it

  /// For a cluster whose run directory is not on this machine: all four, and `cluster`.
  std::string directory_host;
  uint16_t directory_port = 0;
  std::string certificate_file, key_file, authority_file;  ///< PEM, issued by the cluster's CA
};

/// Safe to use from several threads. Destroying it cancels what still runs.
class Client {
 public:
  using OnDelta = std::function<void(const Delta&)>;
  using OnEnd = std::function<void(Result<Reply>)>;

  /// Errors: not_found, unavailable, failed_precondition.
  static Result<Client> connect(const ClientOptions& options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// Runs one request to its end; on_delta sees the output as it arrives, on a thread of the
  /// client.
  Result<Reply> generate(const Request& request, OnDelta on_delta = {});

  /// Starts a request and returns at once. on_end is called exactly once, last. Neither may block
  /// for long, and neither may destroy the client. The number is for cancel().
  uint64_t start(const Request& request, OnDelta on_delta, OnEnd on_end);

  /// Everything that the request holds anywhere is free within one step or chunk. Its on_end sees
  /// the finish reason "cancelled". A request that ended, or that never was, is left alone.
  void cancel(uint64_t request);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
