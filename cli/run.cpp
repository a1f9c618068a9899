#include <algorithm>
#include <csignal>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "launch/nearest.hpp"

namespace troupe::cli {
namespace {

std::string settings_text() {
  std::string text = "Environment:\n";
  for (const SettingDoc& doc : setting_docs())
    text += concat("  ", doc.name, ": ", doc.meaning, "\n");
  return text;
}

/// All flags (or command names) that would have been legal where parsing stopped.
std::vector<std::string> legal_words(CLI::App& app) {
  std::vector<std::string> words;
  const auto chosen = app.get_subcommands();
  const CLI::App& at = chosen.empty() ? app : *chosen.front();
  for (const CLI::Option* option : at.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  if (chosen.empty()) {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
  }
  return words;
}

int refuse(CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  if (e.get_exit_code() == 0) return app.exit(e);
  std::string near_word;
  std::string what = e.what();
  const std::vector<std::string> words = legal_words(app);
  // What looks like a command and is none would only be told as "a subcommand is required".
  if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
    what = concat("there is no command ", argv[1]);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (what.find(word) == std::string::npos) continue;
    const std::string near = launch::nearest(word, words);
    if (!near.empty() && near != word) near_word = near;
    break;
  }
  const auto chosen = app.get_subcommands();
  const std::string help =
      concat("troupe ", chosen.empty() ? "" : chosen.front()->get_name() + " ", "--help");
  // The flags were not read, so whether JSON is wanted is seen from the words.
  if (std::find(argv + 1, argv + argc, std::string_view("--json")) != argv + argc) {
    const std::string hint = near_word.empty() ? help : concat("did you mean ", near_word, "?");
    return report(error(Code::invalid_argument, what, hint), true);
  }
  std::cerr << "troupe: " << what;
  if (!near_word.empty()) std::cerr << "; did you mean " << near_word << "?";
  std::cerr << "\nTry: " << help << std::endl;
  return 2;
}

}  // namespace

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  set_log_level(parse_log_level(setting("TROUPE_LOG").value_or("warning"), LogLevel::warning));
  CLI::App app("Troupe serves large language models with a troupe of actors.", "troupe");
  app.require_subcommand(1);
  app.set_version_flag("--version", "troupe 0.1.0");
  app.footer(settings_text());
  Chosen chosen;
  add_up(app, chosen);
  add_down(app, chosen);
  add_plan(app, chosen);
  add_status(app, chosen);
  add_monitor(app, chosen);
  add_generate(app, chosen);
  add_chat(app, chosen);
  add_serve(app, chosen);
  add_node(app, chosen);
  add_tokenize(app, chosen);
  add_detokenize(app, chosen);
  add_render(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return refuse(app, e, argc, argv);
  }
  const int status = chosen();
  std::cout << std::flush;
  if (std::cout.good()) return status;
  std::cerr << "troupe: standard output could not be written" << std::endl;
  return status == 0 ? 1 : status;
}

}  // namespace troupe::cli
