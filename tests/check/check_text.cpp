// Runs tokenizer and template cases: check_text KIND PATH [--json] [--assets DIR] [--weights DIR].
// scripts/check is its door.
#include <iostream>
#include <span>
#include <string>

#include "tests/check/text_cases.hpp"

namespace {

struct Arguments {
  std::string kind;
  std::string path;
  std::string assets;
  std::string weights;
  bool json = false;
};

int usage() {
  std::cerr << "usage: check_text tokenizers|templates PATH [--json] [--assets DIR] "
               "[--weights DIR]"
            << std::endl;
  return 2;
}

bool read(std::span<char*> words, Arguments& to) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--json") {
      to.json = true;
    } else if (word == "--assets" && has_value) {
      to.assets = words[++i];
    } else if (word == "--weights" && has_value) {
      to.weights = words[++i];
    } else if (word.starts_with("--")) {
      return false;
    } else if (to.kind.empty()) {
      to.kind = word;
    } else if (to.path.empty()) {
      to.path = word;
    } else {
      return false;
    }
  }
  return !to.path.empty() && (to.kind == "tokenizers" || to.kind == "templates");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read({argv, static_cast<size_t>(argc)}, arguments)) return usage();
  troupe::check::Report report;
  report.kind = arguments.kind;
  const troupe::Status status =
      arguments.kind == "tokenizers"
          ? troupe::check::check_tokenizers(arguments.path, arguments.assets, arguments.weights,
                                            report)
          : troupe::check::check_templates(arguments.path, arguments.assets, report);
  if (!status.ok()) {
    std::cerr << "check: " << status.error().message() << std::endl;
    return 2;
  }
  if (arguments.json) {
    troupe::check::print_json(report);
  } else {
    troupe::check::print(report);
  }
  return troupe::check::exit_status(report);
}
