// inspect: what a model is, what it would take, and whether it can be served.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/inspection.hpp"
#include "cli/options.hpp"

namespace troupe::cli {
namespace {

struct InspectOptions {
  std::string path;
  bool json = false;
};

int do_inspect(const InspectOptions& options) {
  const auto inspection = inspect_model(options.path);
  if (!inspection) return report(inspection.error(), options.json);
  if (options.json) {
    std::cout << inspection_json(*inspection).dump() << std::endl;
  } else {
    std::cout << inspection_text(*inspection) << std::flush;
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what a model is, what memory it takes and whether it can be served");
  command
      ->add_option("path", options->path,
                   "a GGUF file, a folder with config.json and safetensors, or a safetensors file")
      ->required();
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options] { run = [options] { return do_inspect(*options); }; });
}

}  // namespace troupe::cli
