// The client facade: connect to a cluster, generate, cancel. No CAF in sight. It owns each request
// and its resume points: when a worker dies, the request goes on elsewhere and the stream continues
// without a lost, repeated or changed byte.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/runtime.hpp"
#include "base/result.hpp"
#include "engine/sampling.hpp"

namespace troupe::actors {

struct Message {
  std::string role;
  std::string content;
};

/// A place in chat_json up to which the prompt's full blocks are to be kept for a time. Never an
/// error: what has no room, or no place in the prompt, is not kept.
struct CacheMark {
  bool in_tools = false;       ///< in the tool of this index, not in the message
  uint32_t index = 0;          ///< of the message or tool
  uint32_t content_bytes = 0;  ///< behind so many bytes of the message's content; 0: at the end of
                               ///< the message or tool
  uint32_t ttl_s = 0;          ///< every use begins it anew
};

/// What to generate: exactly one of text, messages, token_ids, chat_json.
struct GenerateRequest {
  std::optional<std::string> text;
  std::vector<Message> messages;
  /// {"messages": [...], "tools": [...], "variables": {...}} as the model's template takes them;
  /// the last two may be absent.
  std::string chat_json;
  std::vector<int32_t> token_ids;
  engine::SamplingParams sampling;  ///< `seed` counts only when has_seed
  bool has_seed = false;
  uint32_t choices = 1;
  std::vector<std::string> stop;
  bool drafts = true;          ///< look up drafts in the sequence's own tokens (speed, never text)
  bool parse_special = false;  ///< control tokens spelled in `text` become control tokens
  bool explain = false;        ///< ask the router why it chose
  std::string model;           ///< empty: the cluster's only one
  std::string tenant;          ///< whose request it is; empty: of who names none ("default")
  std::vector<CacheMark> cache_marks;  ///< in the order of the prompt
};

/// New output of one choice.
struct ClientDelta {
  uint32_t choice = 0;
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;  ///< one per token
  std::vector<std::vector<std::pair<int32_t, float>>> top_logprobs;
  std::string text;  ///< whole characters
  /// Set in the choice's last delta.
  std::string finish_reason;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  ///< as known now; of the whole request
  uint32_t pinned_tokens = 0;  ///< the same
};

struct ChoiceResult {
  uint32_t choice = 0;
  std::string text;
  std::vector<int32_t> token_ids;
  std::vector<float> logprobs;
  std::vector<std::vector<std::pair<int32_t, float>>> top_logprobs;
  std::string finish_reason;  ///< "stop", "length", "cancelled"; empty while it runs
  uint32_t drafted = 0;
  uint32_t accepted = 0;
};

/// What happened to a request, complete once it ended.
struct GenerateResult {
  std::vector<ChoiceResult> choices;
  uint64_t seed = 0;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  ///< of the prompt, not computed but taken over from a worker's or a
                               ///< store's memory
  uint32_t pinned_tokens = 0;  ///< leading ones of the prompt that are kept as its cache_marks ask
  std::string prefill_worker;  ///< empty: the decode worker computed the prompt
  std::string decode_worker;
  uint32_t blocks_moved = 0;
  uint64_t bytes_moved = 0;
  std::string transport;   ///< "shared_memory", "tcp", "same_process" or "none"
  double transfer_ms = 0;  ///< time spent inside reads
  double handover_ms = 0;  ///< from the first announcement until the last block was there
  double queue_ms = 0;     ///< on the decode worker, until its first step; the hand-over left out
  double prefill_ms = 0;   ///< from there to the first token
  double decode_ms = 0;    ///< from the first token to the last, as the client got them
  double ttft_ms = 0;
  double tokens_per_s = 0;  ///< after the first token, all choices together
  uint32_t attempts = 1;
  std::string explanation;
};

/// Called on the client's own thread; must not block for long.
struct GenerateHandlers {
  std::function<void(const ClientDelta&)> on_delta;
  /// Exactly once, last: the whole result, or why there is none.
  std::function<void(Result<GenerateResult>)> on_end;
};

/// What a client must know of the model to speak for it.
struct ModelCard {
  std::string name;
  uint32_t context_max = 0;
  uint32_t vocab_size = 0;
  uint32_t output_tokens_max = 0;
  bool has_chat_template = false;
  std::vector<std::string> token_bytes;  ///< what each token stands for inside of a text
  std::vector<bool> is_control;          ///< of each token: markup, not text
};

/// The request's prompt and its output do not fit into the model's context; `what` has both sizes.
bool is_context_exceeded(const Error& error);

struct ClientOptions {
  std::string cluster;
  std::string directory_host = "127.0.0.1";
  uint16_t directory_port = 0;
  TlsFiles tls;
  std::string name = "client";
};

struct NodeStatus {
  std::string name;
  std::vector<std::string> roles;
  std::string address;
  uint32_t pid = 0;
  uint64_t incarnation = 0;
  std::string health;
  std::string device;
};

struct WorkerStatus {
  std::string name;
  uint32_t waiting = 0, running = 0, blocks_free = 0, blocks_total = 0, blocks_indexed = 0;
  uint32_t sessions = 0;
  uint64_t prefill_tokens = 0, decode_tokens = 0, cached_tokens = 0, drafted = 0, accepted = 0;
  bool draining = false;  ///< takes nothing new
  std::string unfit;      ///< why it gets no new requests now; empty: it does
};

/// In blocks where nothing else is said.
struct StoreStatus {
  std::string name;
  uint64_t memory_bytes = 0, block_bytes = 0;  ///< block_bytes 0: nothing was offered yet
  uint32_t blocks = 0, blocks_total = 0, blocks_arriving = 0, blocks_pinned = 0, sessions = 0;
  uint64_t blocks_known = 0;  ///< by the router; `blocks`, but for what is on its way
  uint64_t hits = 0, misses = 0, stored = 0, evicted = 0, refused = 0, corrupt = 0;
  uint64_t disk_bytes_max = 0, disk_bytes = 0;  ///< disk_bytes_max 0: it has no disk
  uint64_t disk_blocks = 0, disk_waiting = 0, disk_read = 0, disk_written = 0, disk_dropped = 0;
  uint64_t disk_corrupt = 0, disk_failed = 0;
  bool draining = false;        ///< takes nothing new
  uint32_t blocks_leaving = 0;  ///< that another store was not offered yet, or reads now
};

struct ClusterView {
  std::vector<NodeStatus> nodes;
  std::vector<WorkerStatus> workers;  ///< as the router knows them; empty without a router
  std::vector<StoreStatus> stores;    ///< the same
  uint32_t bookings = 0;
};

class Node;

class Client {
 public:
  /// Connects to the directory of a running cluster. Errors: unavailable, failed_precondition.
  static Result<std::unique_ptr<Client>> connect(const ClientOptions& options);
  /// A client inside the process of `node`, without any network. The node must outlive it.
  static Result<std::unique_ptr<Client>> embedded(Node& node);
  ~Client();

  /// Starts a request; the id is for cancel().
  uint64_t generate(GenerateRequest request, GenerateHandlers handlers);
  /// The prompt's tokens, without generating anything. With `bare` a text gets no BOS and EOS.
  void tokenize(GenerateRequest request, bool bare,
                std::function<void(Result<std::vector<int32_t>>)> done);
  /// The text of the tokens, broken characters replaced.
  void detokenize(std::vector<int32_t> tokens, std::function<void(Result<std::string>)> done);
  /// What the front knows of its model. Errors: unavailable (no front answered in time).
  void card(std::function<void(Result<ModelCard>)> done);
  /// Everything that the request holds anywhere is free within one step or chunk.
  void cancel(uint64_t id);
  /// Runs one request to its end. on_delta may be empty.
  Result<GenerateResult> generate_and_wait(GenerateRequest request,
                                           std::function<void(const ClientDelta&)> on_delta = {});
  /// The node's worker takes nothing new from now on; what runs there moves to other workers or
  /// ends. Returns at once: how many requests and sessions it still has. Errors: not_found (no such
  /// node), failed_precondition (it runs no worker), timeout.
  Result<uint32_t> drain(const std::string& node, std::chrono::milliseconds timeout);
  /// Who is there and what the router knows, or why the cluster did not answer in time.
  Result<ClusterView> view(std::chrono::milliseconds timeout);

 private:
  Client();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::actors
