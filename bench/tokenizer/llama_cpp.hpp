// llama.cpp's own tool llama-tokenize, to measure against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace troupe::bench {

class LlamaTokenize {
 public:
  /// `program`: the tool; `vocabulary`: the bytes of a GGUF file. The documents lie in one file,
  /// one behind the other, for the tool takes one text.
  LlamaTokenize(std::string program, const std::string& vocabulary,
                const std::vector<std::string>& documents);

  /// CPU seconds of one process with the documents less those of one with an empty text: the
  /// loading of the vocabulary is taken out, the printing of the ids (to nowhere) is not. Nothing
  /// if the tool could not be run.
  [[nodiscard]] std::optional<double> run() const;

 private:
  [[nodiscard]] std::optional<double> cpu_s(const std::string& text_file) const;
  std::string program_;
  testing::TemporaryFolder folder_;
};

}  // namespace troupe::bench
