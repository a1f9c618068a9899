#include "actors/client.hpp"

#include <future>

#include "actors/client_actor.hpp"
#include "actors/node_impl.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

Result<ModelCard> from_wire(const v1::ModelCard& wire) {
  ModelCard card;
  card.name = wire.name();
  card.context_max = wire.context_max();
  card.vocab_size = wire.vocab_size();
  card.output_tokens_max = wire.output_tokens_max();
  card.has_chat_template = wire.has_chat_template();
  size_t at = 0;
  for (const uint32_t length : wire.token_lengths()) {
    if (length > wire.token_bytes().size() - at) {
      return error(Code::corrupt, "the tokens of a model card are longer than their bytes");
    }
    card.token_bytes.push_back(wire.token_bytes().substr(at, length));
    at += length;
  }
  card.is_control.resize(card.token_bytes.size());
  for (const int32_t id : wire.control_tokens()) {
    if (id < 0 || static_cast<size_t>(id) >= card.is_control.size()) {
      return error(Code::corrupt, concat("a model card has the control token ", id));
    }
    card.is_control[static_cast<size_t>(id)] = true;
  }
  return card;
}

}  // namespace

struct Client::Impl {
  std::unique_ptr<Runtime> own_runtime;  ///< empty when embedded
  ClientActor handle;
  std::shared_ptr<ClientCore*> core = std::make_shared<ClientCore*>(nullptr);

  ~Impl() {
    auto closing = core;
    post([closing] { (*closing)->close(); });
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    handle = nullptr;
  }

  void post(std::function<void()> run) {
    caf::anon_send(handle, Closure{std::make_shared<std::function<void()>>(std::move(run))});
  }

  void ask(FrontQuestion question) {
    auto shared = std::make_shared<FrontQuestion>(std::move(question));
    post([core = core, shared] { (*core)->ask(std::move(*shared)); });
  }

  void spawn(caf::actor_system& system, ClientSetup setup) {
    handle = system.spawn(client_actor, std::move(setup), core);
  }
};

Client::Client() : impl_(std::make_unique<Impl>()) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(const ClientOptions& options) {
  std::unique_ptr<Client> client(new Client);
  if (options.tls.empty()) {
    return error(Code::failed_precondition, "a client needs a certificate of the cluster",
                 "troupe up makes one in its run directory");
  }
  TROUPE_ASSIGN(client->impl_->own_runtime, Runtime::start(options.tls));
  ClientSetup setup;
  setup.caller = {options.cluster, options.name, client->impl_->own_runtime->incarnation(), {}};
  setup.directory_host = options.directory_host;
  setup.directory_port = options.directory_port;
  client->impl_->spawn(client->impl_->own_runtime->system(), std::move(setup));
  return client;
}

Result<std::unique_ptr<Client>> Client::embedded(Node& node) {
  std::unique_ptr<Client> client(new Client);
  Node::Impl& host = node.impl();
  ClientSetup setup;
  setup.caller = {host.options.cluster, "embedded", host.runtime->incarnation(), host.node_handle};
  if (!host.has("directory")) {
    setup.directory_host = host.options.directory_host;
    setup.directory_port = host.options.directory_port;
  }
  client->impl_->spawn(host.runtime->system(), std::move(setup));
  return client;
}

uint64_t Client::generate(GenerateRequest request, GenerateHandlers handlers) {
  const uint64_t id = random_u64();
  impl_->post([core = impl_->core, id, request = std::move(request),
               handlers = std::move(handlers)]() mutable {
    (*core)->start(id, std::move(request), std::move(handlers));
  });
  return id;
}

void Client::tokenize(GenerateRequest request, bool bare,
                      std::function<void(Result<std::vector<int32_t>>)> done) {
  FrontQuestion question;
  question.purpose = v1::PREPARE_PURPOSE_TOKENS;
  question.request = std::move(request);
  question.without_special = bare;
  question.answered = [done](const v1::PreparedRequest& prepared) {
    done(std::vector<int32_t>(prepared.prompt().begin(), prepared.prompt().end()));
  };
  question.failed = [done](Error why) { done(std::move(why)); };
  impl_->ask(std::move(question));
}

void Client::detokenize(std::vector<int32_t> tokens,
                        std::function<void(Result<std::string>)> done) {
  FrontQuestion question;
  question.purpose = v1::PREPARE_PURPOSE_TEXT;
  question.request.token_ids = std::move(tokens);
  question.answered = [done](const v1::PreparedRequest& prepared) { done(prepared.text()); };
  question.failed = [done](Error why) { done(std::move(why)); };
  impl_->ask(std::move(question));
}

void Client::card(std::function<void(Result<ModelCard>)> done) {
  FrontQuestion question;
  question.answered = [done](const v1::PreparedRequest& prepared) {
    done(from_wire(prepared.card()));
  };
  question.failed = [done](Error why) { done(std::move(why)); };
  impl_->ask(std::move(question));
}

void Client::cancel(uint64_t id) {
  impl_->post([core = impl_->core, id] { (*core)->cancel(id); });
}

Result<GenerateResult> Client::generate_and_wait(GenerateRequest request,
                                                 std::function<void(const ClientDelta&)> on_delta) {
  auto promise = std::make_shared<std::promise<Result<GenerateResult>>>();
  auto future = promise->get_future();
  GenerateHandlers handlers;
  handlers.on_delta = std::move(on_delta);
  handlers.on_end = [promise](Result<GenerateResult> result) {
    promise->set_value(std::move(result));
  };
  generate(std::move(request), std::move(handlers));
  return future.get();
}

Result<uint32_t> Client::drain(const std::string& node, std::chrono::milliseconds timeout) {
  auto promise = std::make_shared<std::promise<Result<uint32_t>>>();
  auto future = promise->get_future();
  impl_->post([core = impl_->core, promise, node] {
    (*core)->drain(node, [promise](Result<uint32_t> left) { promise->set_value(std::move(left)); });
  });
  if (future.wait_for(timeout) != std::future_status::ready) {
    return error(Code::timeout,
                 concat("node ", node, " did not answer within ", timeout.count(), " ms"));
  }
  return future.get();
}

Result<ClusterView> Client::view(std::chrono::milliseconds timeout) {
  auto promise = std::make_shared<std::promise<Result<ClusterView>>>();
  auto future = promise->get_future();
  impl_->post([core = impl_->core, promise] {
    (*core)->view([promise](Result<ClusterView> view) { promise->set_value(std::move(view)); });
  });
  if (future.wait_for(timeout) != std::future_status::ready) {
    return error(Code::timeout,
                 concat("the cluster did not answer within ", timeout.count(), " ms"));
  }
  return future.get();
}

}  // namespace troupe::actors
