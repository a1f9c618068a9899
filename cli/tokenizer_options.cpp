#include "cli/tokenizer_options.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/concat.hpp"
#include "model/gguf_tokenizer.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_file.hpp"

namespace troupe::cli {

Result<OpenedTokenizer> open_tokenizer(const std::string& path) {
  TROUPE_ASSIGN(
      text::LoadedTokenizer loaded,
      text::read_tokenizer_file(path, {model::read_vocabulary_file, model::read_vocabulary}));
  if (loaded.spec.tokens.empty()) {
    return error(Code::not_found, concat(path, ": the model file has no tokenizer"));
  }
  OpenedTokenizer opened;
  TROUPE_ASSIGN(opened.tokenizer, text::Tokenizer::make(loaded.spec));
  opened.spec = std::move(loaded.spec);
  return opened;
}

Result<std::string> read_input(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return error(Code::invalid_argument, concat(path, " is a folder"), "a file");
    }
    file.open(path, std::ios::binary);
    if (!file) return error(Code::not_found, concat(path, ": cannot be read"));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string bytes;
  char block[64 << 10];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    bytes.append(block, static_cast<size_t>(in.gcount()));
    if (bytes.size() > text::limits::prompt_bytes_max) {
      return error(Code::exhausted, concat(path, ": the text is too long"),
                   concat("at most ", text::limits::prompt_bytes_max, " bytes"));
    }
  }
  return bytes;
}

bool wants_color(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace troupe::cli
