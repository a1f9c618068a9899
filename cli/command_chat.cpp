// chat: a conversation on the terminal.
#include <unistd.h>

#include <future>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"

namespace troupe::cli {
namespace {

struct Flags {
  ClusterOptions cluster;
  GenerateOptions generate;
};

int do_chat(const Flags& flags) {
  auto connection = connect(flags.cluster);
  if (!connection) return report(connection.error(), false);
  auto view = connection->client->view(std::chrono::seconds(10));
  if (!view) return report(view.error(), false);
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  if (terminal) {
    std::cerr << "Talking to " << connection->where
              << ". An empty line or Ctrl-D ends the conversation.\n";
  }
  actors::GenerateRequest request = to_request(flags.generate);
  request.choices = 1;
  for (;;) {
    if (terminal) std::cerr << "\n> " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line) || line.empty()) return 0;
    request.messages.push_back({"user", line});
    auto result = connection->client->generate_and_wait(
        request, [](const actors::ClientDelta& delta) { std::cout << delta.text << std::flush; });
    std::cout << std::endl;
    if (!result && result.error().code == Code::invalid_argument) {
      report(result.error(), false);
      request.messages.pop_back();
      continue;
    }
    if (!result) return report(result.error(), false);
    request.messages.push_back({"assistant", result->choices[0].text});
  }
}

}  // namespace

void add_chat(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("chat", "Talk to a model on the terminal");
  add_generate_options(*command, flags->generate);
  add_cluster_options(*command, flags->cluster);
  command->callback([&run, flags] { run = [flags] { return do_chat(*flags); }; });
}

}  // namespace troupe::cli
