// The command line of a benchmark on the CPU backend: flags, of which all but --json have a value,
// and a model file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace troupe::bench {

struct ModelOptions {
  std::string path = "weights/SmolLM2-135M-Instruct.Q4_1.gguf";
  int threads = 0;  ///< 0: one for each core
  bool json = false;
};

/// What a benchmark has besides: a flag with its dashes, and who takes its value.
using MoreFlags = std::map<std::string, std::function<void(const char* value)>>;

/// Ends the process with status 2 at a flag that nobody knows.
inline ModelOptions parse_options(const char* bench, int argc, char** argv, const MoreFlags& more) {
  ModelOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--json") {
      options.json = true;
    } else if (flag == "--threads") {
      options.threads = std::atoi(value), ++i;
    } else if (const auto found = more.find(flag); found != more.end()) {
      found->second(value), ++i;
    } else if (flag[0] != '-') {
      options.path = flag;
    } else {
      std::fprintf(stderr, "%s: unknown flag %s\n", bench, flag.c_str());
      std::exit(2);
    }
  }
  return options;
}

}  // namespace troupe::bench
