// render: a conversation as the model's chat template writes it.
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/tokenizer_options.hpp"
#include "text/chat_prompt.hpp"

namespace troupe::cli {
namespace {

using text::Json;

struct RenderOptions {
  std::string model;
  std::string messages;
  std::string tools;
  std::string documents;
  std::string variables;
  std::string chat_template;
  bool no_generation_prompt = false;
  bool tokens = false;
  bool json = false;
};

Result<Json> read_json(const std::string& path) {
  TROUPE_ASSIGN(const std::string bytes, read_input(path));
  Json value = Json::parse(bytes, nullptr, false);
  if (value.is_discarded()) return error(Code::invalid_argument, concat(path, ": this is no JSON"));
  return value;
}

Result<text::RenderInput> input_of(const RenderOptions& options, const OpenedTokenizer& opened) {
  text::RenderInput input;
  TROUPE_ASSIGN(input.messages, read_json(options.messages));
  // A request's body is taken as well.
  if (input.messages.is_object()) {
    if (input.messages.contains("tools")) input.tools = input.messages["tools"];
    input.messages = Json(input.messages.value("messages", Json()));
  }
  if (!input.messages.is_array()) {
    return error(Code::invalid_argument, concat(options.messages, ": there are no messages"),
                 R"([{"role": "user", "content": "..."}])");
  }
  if (!options.tools.empty()) {
    TROUPE_ASSIGN(input.tools, read_json(options.tools));
  }
  if (!options.documents.empty()) {
    TROUPE_ASSIGN(input.documents, read_json(options.documents));
  }
  if (!options.variables.empty()) {
    input.variables = Json::parse(options.variables, nullptr, false);
    if (!input.variables.is_object()) {
      return error(Code::invalid_argument, "--variables is no JSON object",
                   R"(e.g. '{"enable_thinking": false}')");
    }
  }
  const text::Tokenizer& tokenizer = *opened.tokenizer;
  input.bos_token = tokenizer.spelling(tokenizer.bos_id());
  input.eos_token = tokenizer.spelling(tokenizer.eos_id());
  input.add_generation_prompt = !options.no_generation_prompt;
  input.now_s = std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  return input;
}

Result<text::ChatTemplate> template_of(const RenderOptions& options,
                                       const OpenedTokenizer& opened) {
  std::string source = opened.spec.chat_template;
  if (!options.chat_template.empty()) {
    TROUPE_ASSIGN(source, read_input(options.chat_template));
  }
  if (source.empty()) {
    return error(Code::unsupported, "the model has no chat template",
                 "name one with --template FILE");
  }
  return text::ChatTemplate::parse(source);
}

int do_render(const RenderOptions& options) {
  auto opened = open_tokenizer(options.model);
  if (!opened) return report(opened.error(), options.json);
  const auto chat_template = template_of(options, *opened);
  if (!chat_template) return report(chat_template.error(), options.json);
  const auto input = input_of(options, *opened);
  if (!input) return report(input.error(), options.json);
  const text::ControlSpellings controls(*opened->tokenizer);
  const auto prompt = text::render_chat(*chat_template, controls, *input);
  if (!prompt) return report(prompt.error(), options.json);
  std::vector<int32_t> ids;
  if (options.tokens) {
    auto encoded =
        opened->tokenizer->encode(prompt->text, {.parse_special = true, .plain = prompt->plain});
    if (!encoded) return report(encoded.error(), options.json);
    ids = std::move(encoded).value();
  }
  if (options.json) {
    Json body = {{"text", prompt->text}};
    if (options.tokens) body["ids"] = ids;
    std::cout << body.dump() << std::endl;
    return 0;
  }
  std::cout << prompt->text << std::flush;
  if (options.tokens) std::cerr << "\n" << ids.size() << " tokens" << std::endl;
  return 0;
}

}  // namespace

void add_render(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command =
      app.add_subcommand("render", "Show a conversation as the chat template writes it");
  command->add_option("model", options->model, "as for tokenize")->required();
  command
      ->add_option("--messages", options->messages,
                   "a JSON file with the messages or a request's body (- is standard input)")
      ->required();
  command->add_option("--tools", options->tools, "a JSON file with the tools (default: none)");
  command->add_option("--documents", options->documents,
                      "a JSON file with documents (default: none)");
  command->add_option("--variables", options->variables,
                      "a JSON object with more variables (default: none)");
  command->add_option("--template", options->chat_template,
                      "a Jinja file (default: the model's template)");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt,
                    "do not open the assistant's turn (default off)");
  command->add_flag("--tokens", options->tokens, "count the tokens, too (default off)");
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options] { run = [options] { return do_render(*options); }; });
}

}  // namespace troupe::cli
