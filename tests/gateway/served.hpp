// A gateway in front of a real cast with a tiny model, in this process, over real sockets.
#pragma once

#include <memory>
#include <string>

#include "actors/client.hpp"
#include "gateway/gateway.hpp"
#include "gateway/json.hpp"
#include "tests/gateway/http_client.hpp"
#include "tests/support/cluster_program.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/test_files.hpp"

namespace troupe::testing {

using gateway::Json;

struct Served {
  Served() {
    TinyLlamaOptions tiny;
    tiny.context = 4096;
    make_tiny_llama(file.path(), tiny);
    actors::NodeOptions options;
    options.roles = {"directory", "router", "front", "prefill", "decode"};
    options.model_path = file.path();
    options.model_name = "tiny";
    options.worker.kv_bytes = 32u << 20;
    options.worker.threads = 1;
    auto started = actors::Node::start(options);
    REQUIRE(started.ok());
    node = std::move(*started);
    REQUIRE(node->wait_joined(20'000).ok());
    auto opened = gateway::Gateway::start({}, *node);
    REQUIRE(opened.ok());
    http = std::move(*opened);
    REQUIRE(eventually([&] { return status("GET", "/health/ready", "") == 200; }, 10'000));
  }

  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    return asked(http->port(), method, path, body, 30'000);
  }
  int status(const std::string& method, const std::string& path, const std::string& body) {
    const std::string reply = ask(method, path, body);
    return reply.size() < 12 ? 0 : std::atoi(reply.c_str() + 9);
  }
  Json json(const std::string& path, const Json& body) {
    const std::string reply = ask("POST", path, body.dump());
    return Json::parse(reply.substr(reply.find("\r\n\r\n") + 4), nullptr, false);
  }

  TemporaryFile file{".gguf"};
  std::unique_ptr<actors::Node> node;
  std::unique_ptr<gateway::Gateway> http;
};

}  // namespace troupe::testing
