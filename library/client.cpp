#include "troupe/client.hpp"

#include "actors/client.hpp"
#include "base/concat.hpp"
#include "library/local_cluster.hpp"

namespace troupe {
namespace {

Result<actors::ClientOptions> remote_cluster(const ClientOptions& o) {
  const char* missing = o.cluster.empty()            ? "cluster"
                        : o.directory_host.empty()   ? "directory_host"
                        : o.directory_port == 0      ? "directory_port"
                        : o.certificate_file.empty() ? "certificate_file"
                        : o.key_file.empty()         ? "key_file"
                        : o.authority_file.empty()   ? "authority_file"
                                                     : nullptr;
  if (missing != nullptr) {
    return error(Code::invalid_argument, concat("ClientOptions::", missing, " is not set"),
                 "a cluster elsewhere needs its name, the directory's host and port, and the "
                 "files of a certificate, its key and the cluster's authority");
  }
  actors::ClientOptions options;
  options.cluster = o.cluster;
  options.directory_host = o.directory_host;
  options.directory_port = o.directory_port;
  options.tls = {o.certificate_file, o.key_file, o.authority_file};
  return options;
}

bool is_elsewhere(const ClientOptions& o) {
  return !o.directory_host.empty() || o.directory_port != 0 || !o.certificate_file.empty() ||
         !o.key_file.empty() || !o.authority_file.empty();
}

actors::GenerateRequest to_actors(const Request& r) {
  actors::GenerateRequest request;
  request.text = r.text;
  for (const ChatMessage& message : r.messages) {
    request.messages.push_back({message.role, message.content});
  }
  request.token_ids = r.token_ids;
  request.sampling.max_tokens = r.max_tokens;
  request.sampling.min_tokens = r.min_tokens;
  request.sampling.temperature = r.temperature;
  request.sampling.top_k = r.top_k;
  request.sampling.top_p = r.top_p;
  request.sampling.min_p = r.min_p;
  request.sampling.repetition_penalty = r.repetition_penalty;
  request.sampling.presence_penalty = r.presence_penalty;
  request.sampling.frequency_penalty = r.frequency_penalty;
  request.sampling.logit_bias = r.logit_bias;
  request.sampling.seed = r.seed.value_or(0);
  request.has_seed = r.seed.has_value();
  request.sampling.top_logprobs = r.top_logprobs;
  request.sampling.ignore_eos = r.ignore_eos;
  request.choices = r.choices;
  request.stop = r.stop;
  request.model = r.model;
  return request;
}

Delta from_actors(const actors::ClientDelta& d) {
  return {d.choice, d.tokens, d.logprobs, d.text};
}

Result<Reply> from_actors(Result<actors::GenerateResult> result) {
  if (!result) return result.error();
  Reply reply;
  reply.seed = result->seed;
  reply.prompt_tokens = result->prompt_tokens;
  reply.cached_tokens = result->cached_tokens;
  reply.ttft_ms = result->ttft_ms;
  reply.tokens_per_s = result->tokens_per_s;
  reply.prefill_worker = result->prefill_worker;
  reply.decode_worker = result->decode_worker;
  reply.attempts = result->attempts;
  for (actors::ChoiceResult& choice : result->choices) {
    reply.output_tokens += static_cast<uint32_t>(choice.token_ids.size());
    reply.choices.push_back({std::move(choice.text), std::move(choice.token_ids),
                             std::move(choice.logprobs), std::move(choice.top_logprobs),
                             std::move(choice.finish_reason)});
  }
  return reply;
}

}  // namespace

struct Client::Impl {
  std::unique_ptr<actors::Client> client;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(const ClientOptions& options) {
  actors::ClientOptions resolved;
  if (is_elsewhere(options)) {
    TROUPE_ASSIGN(resolved, remote_cluster(options));
  } else {
    TROUPE_ASSIGN(const library::LocalCluster cluster, library::local_cluster(options.cluster));
    resolved = cluster.client;
  }
  auto impl = std::make_unique<Impl>();
  TROUPE_ASSIGN(impl->client, actors::Client::connect(resolved));
  return Client(std::move(impl));
}

Result<Reply> Client::generate(const Request& request, OnDelta on_delta) {
  std::function<void(const actors::ClientDelta&)> forward;
  if (on_delta) {
    forward = [on_delta = std::move(on_delta)](const actors::ClientDelta& delta) {
      on_delta(from_actors(delta));
    };
  }
  return from_actors(impl_->client->generate_and_wait(to_actors(request), std::move(forward)));
}

uint64_t Client::start(const Request& request, OnDelta on_delta, OnEnd on_end) {
  actors::GenerateHandlers handlers;
  handlers.on_delta = [on_delta = std::move(on_delta)](const actors::ClientDelta& delta) {
    if (on_delta) on_delta(from_actors(delta));
  };
  handlers.on_end = [on_end = std::move(on_end)](Result<actors::GenerateResult> result) {
    if (on_end) on_end(from_actors(std::move(result)));
  };
  return impl_->client->generate(to_actors(request), std::move(handlers));
}

void Client::cancel(uint64_t request) {
  impl_->client->cancel(request);
}

}  // namespace troupe
