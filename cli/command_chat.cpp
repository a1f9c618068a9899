// chat: a conversation on the terminal.
#include <unistd.h>

#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "cli/run_request.hpp"

namespace troupe::cli {
namespace {

struct ChatFlags {
  ClusterOptions cluster;
  GenerateOptions generate;
};

/// Ctrl-C on a terminal ends the answer; at the prompt, or in a pipe, the conversation.
constexpr int interrupted_status = 130;

/// One line of the user; false at the end of the conversation.
bool read_line(bool terminal, std::string& line) {
  if (terminal) std::cerr << "\n> " << std::flush;
  return static_cast<bool>(std::getline(std::cin, line)) && !line.empty();
}

int do_chat(const ChatFlags& flags) {
  auto connection = connect(flags.cluster);
  if (!connection) return report(connection.error(), false);
  auto view = connection->client->view(std::chrono::seconds(10));
  if (!view) return report(view.error(), false);
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  install_signal_handlers();
  if (terminal) {
    std::cerr << "Talking to " << connection->where
              << ". An empty line or Ctrl-D ends the conversation, Ctrl-C an answer.\n";
  }
  actors::GenerateRequest request = to_request(flags.generate);
  for (std::string line; read_line(terminal, line);) {
    request.messages.push_back({"user", line});
    std::string answer;
    auto result = run_request(*connection, request, [&answer](const actors::ClientDelta& delta) {
      answer += delta.text;
      print_now(delta.text);
    });
    std::cout << std::endl;
    if (!std::cout) return 1;
    if (result) {
      request.messages.push_back({"assistant", result->choices[0].text});
    } else if (result.error().code == Code::cancelled && terminal) {
      // What was said so far stays said.
      request.messages.push_back({"assistant", answer});
      forget_interrupt();
    } else if (result.error().code == Code::invalid_argument) {
      report(result.error(), false);
      request.messages.pop_back();
    } else {
      const int status = report(result.error(), false);
      return result.error().code == Code::cancelled ? interrupted_status : status;
    }
  }
  return interrupted() ? interrupted_status : 0;
}

}  // namespace

void add_chat(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "Talk to a model on the terminal");
  add_sampling_options(*command, flags->generate);
  add_cluster_options(*command, flags->cluster);
  command->callback([&run, flags, command] {
    if (auto fit = check_flags(*command, flags->generate); !fit) throw FlagError(fit.error());
    run = [flags] { return do_chat(*flags); };
  });
}

}  // namespace troupe::cli
