// Runs tokenizer and template cases: check_text KIND PATH [--json] [--assets DIR] [--weights DIR].
// scripts/check is its door.
#include <iostream>

#include "tests/check/arguments.hpp"
#include "tests/check/text_cases.hpp"

int main(int argc, char** argv) {
  using namespace troupe::check;
  constexpr std::string_view kinds[] = {"tokenizers", "templates"};
  const auto arguments = read_arguments({argv, static_cast<size_t>(argc)}, kinds);
  if (!arguments) {
    std::cerr << "usage: check_text tokenizers|templates PATH [--json] [--assets DIR] "
                 "[--weights DIR]"
              << std::endl;
    return 2;
  }
  Report report;
  report.kind = arguments->kind;
  const troupe::Status status =
      arguments->kind == "tokenizers"
          ? check_tokenizers(arguments->path, arguments->assets, arguments->weights, report)
          : check_templates(arguments->path, arguments->assets, report);
  return finish(status, report, arguments->json);
}
