// The whole cast in this process on a simulated device, with the gateway in front: what a token and
// a request cost beside the computing.
#pragma once

#include <memory>
#include <string>

#include "actors/client.hpp"
#include "actors/node.hpp"
#include "actors/prepare.hpp"
#include "gateway/gateway.hpp"

namespace troupe::bench {

struct SimNodeOptions {
  std::string model_path;
  uint32_t vocab_size = 0;
  int64_t us_per_step = 0;
};

class SimNode {
 public:
  /// Ends the program when it cannot start.
  explicit SimNode(const SimNodeOptions& options);

  [[nodiscard]] uint16_t port() const { return http_->port(); }
  [[nodiscard]] actors::Client& client() { return *client_; }
  /// Computes a prompt, so that its KV is at hand; nobody in this node has seen its text.
  void compute(const std::string& chat_json);

 private:
  std::unique_ptr<actors::Node> node_;
  std::unique_ptr<actors::Client> client_;
  std::unique_ptr<gateway::Gateway> http_;
  std::unique_ptr<actors::Preparer> preparer_;  ///< apart from the front's
};

}  // namespace troupe::bench
