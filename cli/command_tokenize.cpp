// tokenize and detokenize: text to ids and back, to look at where tokens begin and end.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/sha256.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "cli/tokenizer_options.hpp"
#include "text/utf8.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeOptions {
  std::string model;
  std::string text;
  std::string file;
  std::string color = "auto";
  bool has_text = false;
  bool special = false;
  bool add = false;
  bool json = false;
};

struct DetokenizeOptions {
  std::string model;
  std::vector<int32_t> ids;
  bool skip_special = false;
  bool json = false;
};

/// A token's bytes so that a line shows them: control characters and broken bytes escaped.
std::string shown(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const text::Utf8Step step = text::utf8_step(bytes, at);
    const uint8_t byte = static_cast<uint8_t>(bytes[at]);
    if (bytes[at] == '\n') {
      out += "\\n";
    } else if (bytes[at] == '\t') {
      out += "\\t";
    } else if (!step.valid || byte < 0x20 || byte == 0x7f) {
      out += "\\x" + hex({&byte, 1});
      ++at;
      continue;
    } else {
      out += bytes.substr(at, step.bytes);
    }
    at += step.bytes;
  }
  return out;
}

/// Control tokens as the vocabulary spells them: they may stand for no text.
std::string piece_of(const text::Tokenizer& tokenizer, int32_t id) {
  return std::string(tokenizer.is_control(id) ? tokenizer.spelling(id) : tokenizer.token_bytes(id));
}

void print_colored(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  constexpr const char* backgrounds[] = {"\x1b[30;46m", "\x1b[30;43m", "\x1b[30;42m",
                                         "\x1b[30;45m"};
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string piece = shown(piece_of(tokenizer, ids[i]));
    const size_t line = piece.find("\\n");
    std::cout << (tokenizer.is_control(ids[i]) ? "\x1b[1;37;41m" : backgrounds[i % 4]) << piece
              << "\x1b[0m";
    if (line != std::string::npos) std::cout << "\n";
  }
  std::cout << "\n" << ids.size() << " tokens" << std::endl;
}

void print_lines(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) std::cout << id << "\t" << shown(piece_of(tokenizer, id)) << "\n";
  std::cout << std::flush;
}

int do_tokenize(const TokenizeOptions& options) {
  auto opened = open_tokenizer(options.model);
  if (!opened) return report(opened.error(), options.json);
  std::string text = options.text;
  if (!options.has_text) {
    auto read = read_input(options.file.empty() ? "-" : options.file);
    if (!read) return report(read.error(), options.json);
    text = std::move(read).value();
  }
  const auto ids = opened->tokenizer->encode(
      text, {.parse_special = options.special, .add_special = options.add});
  if (!ids) return report(ids.error(), options.json);
  if (options.json) {
    Json pieces = Json::array();
    for (const int32_t id : *ids) {
      pieces.push_back(text::replace_invalid_utf8(piece_of(*opened->tokenizer, id)));
    }
    std::cout << Json{{"ids", *ids}, {"pieces", pieces}, {"count", ids->size()}}.dump()
              << std::endl;
  } else if (wants_color(options.color)) {
    print_colored(*opened->tokenizer, *ids);
  } else {
    print_lines(*opened->tokenizer, *ids);
  }
  return 0;
}

int do_detokenize(const DetokenizeOptions& options) {
  auto opened = open_tokenizer(options.model);
  if (!opened) return report(opened.error(), options.json);
  const auto text = opened->tokenizer->decode_text(options.ids, options.skip_special);
  if (!text) return report(text.error(), options.json);
  if (options.json) {
    std::cout << Json{{"text", *text}}.dump() << std::endl;
  } else {
    std::cout << *text << std::endl;
  }
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the tokens of a text");
  command
      ->add_option("model", options->model,
                   "a GGUF file, tokenizer.json, tekken.json, sentencepiece .model, or a folder")
      ->required();
  CLI::Option* text =
      command->add_option("--text", options->text, "the text (default: --file, standard input)");
  command->add_option("--file", options->file, "a file with the text (default: standard input)");
  command->add_flag("--special", options->special,
                    "control tokens that the text spells out become their ids (default off)");
  command->add_flag("--add", options->add, "add BOS and EOS where the model does (default off)");
  add_word(*command, "--color", options->color, {"auto", "always", "never"},
           "auto, always or never (default auto)");
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options, command, text] {
    if (auto fit = check_together(*command); !fit) throw FlagError(fit.error());
    options->has_text = text->count() > 0;
    run = [options] { return do_tokenize(*options); };
  });
}

void add_detokenize(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<DetokenizeOptions>();
  CLI::App* command = app.add_subcommand("detokenize", "Show the text of token ids");
  command->add_option("model", options->model, "as for tokenize")->required();
  command->add_option("ids", options->ids, "token ids")->required();
  command->add_flag("--skip-special", options->skip_special,
                    "leave out control tokens (default off)");
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options] { run = [options] { return do_detokenize(*options); }; });
}

}  // namespace troupe::cli
