// Troupe beside llama-server, in one run on the same file: each asked the same in turn.
#pragma once

#include <string>
#include <vector>

#include "bench/report.hpp"

namespace troupe::bench {

struct AgainstOptions {
  std::string llama_server;  ///< the program
  std::string troupe;        ///< the program
  std::string model;
  int rounds = 3;
};

/// Prompts of 512 tokens with 64 tokens of output, 1, 8 and 32 at once; a prompt of 4,048 tokens
/// cold, once more with another end, and with eight other ends at once.
std::vector<Row> against_llama(const AgainstOptions& options);

}  // namespace troupe::bench
