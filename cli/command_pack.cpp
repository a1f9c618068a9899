// pack: writes a model's weights as the kernels read them into a file beside it.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "cpu/pack_file.hpp"
#include "cpu/pack_writer.hpp"

namespace troupe::cli {
namespace {

struct PackOptions {
  std::string path;
  std::string output;
  std::string compute = "fast";
  int threads = 0;
  bool json = false;
};

Result<cpu::PackSummary> pack(const PackOptions& options) {
  const cpu::ComputeMode mode = compute_mode(options.compute);
  const std::string path =
      options.output.empty() ? cpu::pack_path(options.path, mode) : options.output;
  TROUPE_ASSIGN(const auto model, model::load_model(options.path));
  ThreadPool pool(ThreadPool::threads_of(options.threads));
  return cpu::write_pack(model, mode, path, pool);
}

int do_pack(const PackOptions& options) {
  if (log_level() == LogLevel::warning) set_log_level(LogLevel::info);
  const TimeUs started_us = now_us();
  const auto packed = pack(options);
  if (!packed) return report(packed.error(), options.json);
  const TimeUs took_ms = (now_us() - started_us) / 1000;
  if (options.json) {
    const nlohmann::ordered_json body = {{"path", packed->path},
                                         {"matrices", packed->matrices},
                                         {"bytes", packed->bytes},
                                         {"took_ms", took_ms}};
    std::cout << body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
  } else {
    std::cout << packed->path << ": " << packed->matrices << " matrices, "
              << bytes_text(packed->bytes) << ", in " << took_ms
              << " ms; whoever serves the model here uses it" << std::endl;
  }
  return 0;
}

}  // namespace

void add_pack(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<PackOptions>();
  CLI::App* command = app.add_subcommand(
      "pack",
      "Write a model's weights as the CPU reads them, so that starting takes no packing and "
      "processes that only prefill share one copy");
  command->add_option("path", options->path, "a GGUF file or a folder with config.json")
      ->required();
  add_text(
      *command, "--output", options->output,
      "the file to write (default: PATH.pack, or troupe.pack in the folder, where it is looked "
      "for)");
  add_word(*command, "--compute", options->compute, {"exact", "fast"},
           "for which mode (default fast)");
  add_whole(*command, "--threads", options->threads, {0, ThreadPool::threads_max}, "2",
            "threads; 0: all cores (default 0)");
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options] { run = [options] { return do_pack(*options); }; });
}

}  // namespace troupe::cli
