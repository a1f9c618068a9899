// key: draws a key for the HTTP server.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/sha256.hpp"
#include "cli/commands.hpp"
#include "gateway/keys.hpp"

namespace troupe::cli {

void add_key(CLI::App& app, Chosen& run) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "key", "Draw a key of 256 random bits for the HTTP server, and its SHA-256 for a key file");
  command->add_flag("--json", *json, "one JSON object on stdout (default off)");
  command->callback([&run, json] {
    run = [json] {
      const std::string key = gateway::new_key();
      const std::string digest = "sha256:" + hex(sha256(key));
      if (*json) {
        std::cout << nlohmann::ordered_json{{"key", key}, {"digest", digest}}.dump() << std::endl;
      } else {
        std::cout << key << "\n" << digest << std::endl;
      }
      return 0;
    };
  });
}

}  // namespace troupe::cli
