// Runs model file cases: check_model KIND PATH [--json] [--compute exact|fast].
// scripts/check is its door.
#include <exception>
#include <iostream>

#include "base/log.hpp"
#include "tests/check/arguments.hpp"
#include "tests/check/model_cases.hpp"

int main(int argc, char** argv) {
  using namespace troupe::check;
  constexpr std::string_view kinds[] = {"models", "gguf", "dequant"};
  const auto arguments = read_arguments({argv, static_cast<size_t>(argc)}, kinds);
  if (!arguments) {
    std::cerr << "usage: check_model models|gguf|dequant PATH [--json] [--compute exact|fast]"
              << std::endl;
    return 2;
  }
  troupe::set_log_level(troupe::LogLevel::warning);
  Report report;
  report.kind = arguments->kind;
  try {
    const bool exact = arguments->compute == "exact";
    const troupe::Status status =
        arguments->kind == "models" ? check_models(arguments->path, exact, report)
        : arguments->kind == "gguf" ? check_gguf(arguments->path, exact, report)
                                    : check_dequant(arguments->path, report);
    return finish(status, report, arguments->json);
  } catch (const std::exception& failure) {
    std::cerr << "check: the cases have another form: " << failure.what() << std::endl;
    return 2;
  }
}
