#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/parse_errors.hpp"
#include "cli/restart.hpp"
#include "cli/signals.hpp"

namespace troupe::cli {
namespace {

std::string settings_text() {
  std::string text = "Environment:\n";
  for (const SettingDoc& doc : setting_docs()) {
    if (doc.whom == SettingDoc::For::users) text += concat("  ", doc.name, ": ", doc.meaning, "\n");
  }
  return text;
}

/// UCX opens its log when it is loaded, by default on stdout, which may carry JSON. It says nothing
/// there unless it is told to.
void keep_stdout_clean() {
  const bool talks = std::getenv("UCX_LOG_LEVEL") != nullptr;
  if (talks && std::getenv("UCX_LOG_FILE") == nullptr) restart({{"UCX_LOG_FILE", "stderr"}});
}

int refuse(CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  if (e.get_exit_code() == 0) return app.exit(e);
  const Error told = in_our_words(app, e, {argv + 1, argv + argc});
  // The flags were not read, so whether JSON is wanted is seen from the words.
  const bool json = std::find(argv + 1, argv + argc, std::string_view("--json")) != argv + argc;
  const int status = report(told, json);
  if (!json) std::cerr << "Try: " << full_name(chosen_command(app)) << " --help" << std::endl;
  return status;
}

}  // namespace

void add_commands(CLI::App& app, Chosen& run) {
  app.require_subcommand(1);
  add_up(app, run);
  add_down(app, run);
  add_plan(app, run);
  add_status(app, run);
  add_drain(app, run);
  add_monitor(app, run);
  add_generate(app, run);
  add_chat(app, run);
  add_serve(app, run);
  add_node(app, run);
  add_inspect(app, run);
  add_certs(app, run);
  add_key(app, run);
  add_kv(app, run);
  add_pack(app, run);
  add_tokenize(app, run);
  add_detokenize(app, run);
  add_render(app, run);
  add_diff_steps(app, run);
}

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  restore_hangup();
  keep_stdout_clean();
  const std::string level = setting("TROUPE_LOG").value_or("warning");
  set_log_level(parse_log_level(level, LogLevel::warning));
  if (parse_log_level(level, LogLevel::off) != log_level()) {
    log_warning("settings", concat("TROUPE_LOG is \"", level,
                                   "\", expected debug, info, warning, error or off"));
  }
  CLI::App app("Troupe serves large language models with a troupe of actors.", "troupe");
  app.set_version_flag("--version", "troupe 0.1.0");
  Chosen chosen;
  // Commands take the footer that is there when they are added.
  app.footer("troupe --help lists the environment variables.\n");
  add_commands(app, chosen);
  app.footer(settings_text());
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
