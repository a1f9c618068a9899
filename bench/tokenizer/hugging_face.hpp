// The tokenizers library of Hugging Face in a process of its own, to measure against.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer_spec.hpp"

namespace troupe::bench {

/// The spec as a tokenizer.json; empty for a kind that is not written (only byte-level BPE is).
std::string to_tokenizer_json(const text::TokenizerSpec& spec);

class HuggingFace {
 public:
  /// Starts `python` with the tokenizer and the documents; ready() is false if that did not work
  /// (no Python, no package "tokenizers"): then reason() says why.
  HuggingFace(const std::string& python, const std::string& tokenizer_json,
              const std::vector<std::string>& documents);
  ~HuggingFace();
  HuggingFace(const HuggingFace&) = delete;
  HuggingFace& operator=(const HuggingFace&) = delete;

  [[nodiscard]] bool ready() const { return to_ >= 0; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::string& version() const { return version_; }

  struct Run {
    double cpu_s = 0;  ///< of one thread, to encode all documents
    size_t tokens = 0;
    std::string digest;  ///< of all ids
  };
  /// Encodes all documents once.
  std::optional<Run> run();

 private:
  std::optional<std::string> read_line();
  int to_ = -1;
  int from_ = -1;
  pid_t child_ = -1;
  std::string pending_;
  std::string folder_;
  std::string reason_;
  std::string version_;
};

}  // namespace troupe::bench
