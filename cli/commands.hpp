// The commands of troupe, one function each. They parse nothing: their options are filled in.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace troupe::cli {

/// Adds a command; when it was chosen, `run` is set to what it does and gives the exit status.
using Chosen = std::function<int()>;
void add_up(CLI::App& app, Chosen& run);
void add_down(CLI::App& app, Chosen& run);
void add_plan(CLI::App& app, Chosen& run);
void add_status(CLI::App& app, Chosen& run);
void add_drain(CLI::App& app, Chosen& run);
void add_monitor(CLI::App& app, Chosen& run);
void add_generate(CLI::App& app, Chosen& run);
void add_chat(CLI::App& app, Chosen& run);
void add_serve(CLI::App& app, Chosen& run);
void add_node(CLI::App& app, Chosen& run);
void add_tokenize(CLI::App& app, Chosen& run);
void add_detokenize(CLI::App& app, Chosen& run);
void add_render(CLI::App& app, Chosen& run);
void add_inspect(CLI::App& app, Chosen& run);
void add_certs(CLI::App& app, Chosen& run);
void add_diff_steps(CLI::App& app, Chosen& run);
void add_key(CLI::App& app, Chosen& run);
void add_kv(CLI::App& app, Chosen& run);
void add_pack(CLI::App& app, Chosen& run);

/// All of them.
void add_commands(CLI::App& app, Chosen& run);

/// Parses and runs; the whole program.
int run(int argc, char** argv);

}  // namespace troupe::cli
