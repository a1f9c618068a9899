#include "bench/gateway/sim_node.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "engine/sim_backend.hpp"

namespace troupe::bench {
namespace {

template <class T>
T or_end(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench_gateway: %s\n", result.error().message().c_str());
  std::exit(1);
}

}  // namespace

SimNode::SimNode(const SimNodeOptions& options) {
  actors::NodeOptions node;
  node.name = "bench";
  node.roles = {"directory", "router", "front", "decode"};
  node.model_path = options.model_path;
  node.model_name = "m";
  node.worker.kv_bytes = size_t{64} << 20;
  node.worker.shared_memory = node.worker.tcp = false;
  node.worker.make_backend = [options] {
    engine::SimOptions sim;
    sim.vocab_size = options.vocab_size;
    sim.verify_all = false;
    sim.us_per_step = options.us_per_step;
    return std::make_shared<engine::SimBackend>(sim);
  };
  node_ = or_end(actors::Node::start(node));
  if (const auto joined = node_->wait_joined(20'000); !joined) {
    std::fprintf(stderr, "bench_gateway: %s\n", joined.error().message().c_str());
    std::exit(1);
  }
  client_ = or_end(actors::Client::embedded(*node_));
  http_ = or_end(gateway::Gateway::start({}, *node_));
  const auto model = or_end(model::load_model(options.model_path, {}));
  preparer_ = or_end(actors::Preparer::make(*model, 0, "m"));
  // The watcher asks for the model's card.
  std::this_thread::sleep_for(std::chrono::seconds(1));
}

void SimNode::compute(const std::string& chat_json) {
  v1::PrepareRequest question;
  question.set_purpose(v1::PREPARE_PURPOSE_TOKENS);
  question.set_chat_json(chat_json);
  const v1::PreparedRequest prepared = preparer_->prepare(question, 1);
  actors::GenerateRequest request;
  request.token_ids.assign(prepared.prompt().begin(), prepared.prompt().end());
  request.sampling.max_tokens = 1;
  or_end(client_->generate_and_wait(std::move(request)));
}

}  // namespace troupe::bench
