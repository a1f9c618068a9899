// generate: one prompt in, one streamed answer (or one JSON object) out.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "cli/run_request.hpp"
#include "text/text_limits.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GenerateFlags {
  ClusterOptions cluster;
  GenerateOptions generate;
  std::string prompt;
  std::string prompt_file;
  std::string token_list;
  std::vector<int32_t> token_ids;
  bool raw = false;
  bool parse_special = false;
  bool json = false;
  bool explain = false;
};

Json choice_json(const actors::ChoiceResult& choice, bool with_top) {
  Json body;
  body["text"] = choice.text;
  body["token_ids"] = choice.token_ids;
  body["logprobs"] = choice.logprobs;
  if (with_top) {
    body["top_logprobs"] = Json::array();
    for (const auto& token : choice.top_logprobs) {
      Json entries = Json::array();
      for (const auto& [id, logprob] : token) entries.push_back({{"id", id}, {"logprob", logprob}});
      body["top_logprobs"].push_back(std::move(entries));
    }
  }
  body["finish_reason"] = choice.finish_reason;
  return body;
}

Json to_json(const actors::GenerateResult& result, const GenerateFlags& flags) {
  const bool with_top = flags.generate.top_logprobs > 0;
  Json body;
  size_t tokens = 0;
  uint64_t drafted = 0;
  uint64_t accepted = 0;
  for (const auto& choice : result.choices) {
    tokens += choice.token_ids.size();
    drafted += choice.drafted;
    accepted += choice.accepted;
  }
  if (result.choices.size() == 1) {
    body = choice_json(result.choices[0], with_top);
  } else {
    body["choices"] = Json::array();
    for (const auto& choice : result.choices) {
      body["choices"].push_back(choice_json(choice, with_top));
    }
  }
  body["seed"] = result.seed;
  body["prompt_tokens"] = result.prompt_tokens;
  body["cached_tokens"] = result.cached_tokens;
  body["output_tokens"] = tokens;
  body["draft_tokens"] = drafted;
  body["accepted_draft_tokens"] = accepted;
  body["prefill_worker"] = result.prefill_worker;
  body["decode_worker"] = result.decode_worker;
  body["blocks_moved"] = result.blocks_moved;
  body["bytes_moved"] = result.bytes_moved;
  body["transport"] = result.transport;
  body["transfer_ms"] = result.transfer_ms;
  body["handover_ms"] = result.handover_ms;
  body["ttft_ms"] = result.ttft_ms;
  body["tokens_per_s"] = result.tokens_per_s;
  body["attempts"] = result.attempts;
  if (flags.explain) body["explanation"] = result.explanation;
  return body;
}

void print_summary(const actors::GenerateResult& r) {
  size_t tokens = 0;
  for (const auto& choice : r.choices) tokens += choice.token_ids.size();
  std::cerr << std::fixed << std::setprecision(1);
  std::cerr << "\nprompt        " << r.prompt_tokens << " tokens, " << r.cached_tokens
            << " of them cached\n";
  std::cerr << "prefilled by  " << (r.prefill_worker.empty() ? r.decode_worker : r.prefill_worker)
            << "\ndecoded by    " << r.decode_worker << "\n";
  if (r.blocks_moved > 0) {
    std::cerr << "KV moved      " << r.blocks_moved << " blocks, "
              << static_cast<double>(r.bytes_moved) / 1e6 << " MB over " << r.transport << " in "
              << std::setprecision(2) << r.transfer_ms << " ms of reading";
    if (r.transfer_ms > 0) {
      std::cerr << " (" << static_cast<double>(r.bytes_moved) / 1e6 / r.transfer_ms << " GB/s)";
    }
    std::cerr << std::setprecision(1) << "\n";
  } else {
    std::cerr << "KV moved      nothing\n";
  }
  std::cerr << "first token   " << r.ttft_ms << " ms\n";
  std::cerr << "output        " << tokens << " tokens, " << r.tokens_per_s << " tokens/s, "
            << (r.attempts == 1 ? "1 attempt" : concat(r.attempts, " attempts")) << "\n";
  std::cerr << "seed          " << r.seed << "\n";
  if (!r.explanation.empty()) std::cerr << "\nwhy there:\n" << r.explanation << "\n";
  std::cerr << std::flush;
}

/// "1,2,3"; every number must be there.
Status read_token_ids(GenerateFlags& flags) {
  const char* at = flags.token_list.data();
  const char* end = at + flags.token_list.size();
  while (at != end) {
    int32_t id = 0;
    const auto [stop, failure] = std::from_chars(at, end, id);
    const bool more = stop != end && *stop == ',' && stop + 1 != end;
    if (failure != std::errc() || (stop != end && !more)) {
      return error(Code::invalid_argument, concat("--token-ids is \"", flags.token_list, "\""),
                   "numbers with a comma between them, e.g. 1,2,3");
    }
    flags.token_ids.push_back(id);
    at = more ? stop + 1 : stop;
  }
  return {};
}

Status read_file(GenerateFlags& flags) {
  std::error_code ignored;
  if (flags.prompt_file != "-" && std::filesystem::is_directory(flags.prompt_file, ignored)) {
    return error(Code::invalid_argument, concat(flags.prompt_file, " is a folder"), "a text file");
  }
  std::FILE* file = flags.prompt_file == "-" ? stdin : std::fopen(flags.prompt_file.c_str(), "rb");
  if (file == nullptr) return error(Code::not_found, concat("cannot read ", flags.prompt_file));
  char piece[65536];
  size_t n = 0;
  while (flags.prompt.size() <= text::limits::prompt_bytes_max &&
         (n = std::fread(piece, 1, sizeof piece, file)) > 0) {
    flags.prompt.append(piece, n);
  }
  if (file != stdin) std::fclose(file);
  if (flags.prompt.size() > text::limits::prompt_bytes_max) {
    return error(Code::invalid_argument, concat(flags.prompt_file, " is too long a prompt"),
                 concat("at most ", text::limits::prompt_bytes_max, " bytes"));
  }
  if (flags.prompt.empty()) return error(Code::invalid_argument, "the prompt is empty");
  return {};
}

Status read_prompt(GenerateFlags& flags) {
  TROUPE_TRY(read_token_ids(flags));
  const int given = (flags.prompt.empty() ? 0 : 1) + (flags.prompt_file.empty() ? 0 : 1) +
                    (flags.token_ids.empty() ? 0 : 1);
  if (given != 1) {
    return error(Code::invalid_argument, given == 0 ? "no prompt" : "several prompts",
                 "give one of: a text, --file FILE (- for standard input), --token-ids 1,2,3");
  }
  return flags.prompt_file.empty() ? Status() : read_file(flags);
}

int do_generate(GenerateFlags& flags) {
  if (auto status = read_prompt(flags); !status) return report(status.error(), flags.json);
  actors::GenerateRequest request = to_request(flags.generate);
  request.explain = flags.explain;
  request.parse_special = flags.parse_special;
  if (!flags.token_ids.empty()) {
    request.token_ids = flags.token_ids;
  } else if (flags.raw) {
    request.text = flags.prompt;
  } else {
    request.messages.push_back({"user", flags.prompt});
  }
  install_signal_handlers();
  auto connection = connect(flags.cluster);
  if (!connection) return report(connection.error(), flags.json);
  const bool stream = !flags.json && request.choices == 1;
  bool streamed = false;
  std::function<void(const actors::ClientDelta&)> on_delta;
  if (stream) {
    on_delta = [&streamed](const actors::ClientDelta& delta) {
      streamed = true;
      print_now(delta.text);
    };
  }
  auto result = run_request(*connection, std::move(request), on_delta);
  if (!result && !std::cout) return 1;  // who reads no more is told of that alone
  if (!result) {
    if (streamed) std::cout << std::endl;
    const int status = report(result.error(), flags.json);
    return result.error().code == Code::cancelled ? 130 : status;
  }
  if (flags.json) {
    std::cout << to_json(*result, flags).dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
    return 0;
  }
  if (!stream) {
    for (const auto& choice : result->choices) {
      std::cout << "--- " << choice.choice << " (" << choice.finish_reason << ")\n"
                << choice.text << "\n";
    }
  }
  std::cout << std::endl;
  if (flags.explain || ::isatty(STDERR_FILENO) != 0) print_summary(*result);
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app.add_subcommand("generate", "Answer one prompt");
  command->add_option("prompt", flags->prompt, "the user's message");
  command->add_option("--file", flags->prompt_file,
                      "read the prompt from a file; -: standard input");
  command->add_option("--token-ids", flags->token_list, "the prompt as token ids, e.g. 1,2,3");
  command->add_flag("--raw", flags->raw,
                    "continue the text as it is, without the chat template (default off)");
  command->add_flag(
      "--parse-special", flags->parse_special,
      "with --raw: control tokens spelled in the text become control tokens (default off)");
  command->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  command->add_flag(
      "--explain", flags->explain,
      "say what happened and why the router chose (default: what happened, on a terminal)");
  add_whole(*command, "--n", flags->generate.choices, {1, engine::limits::choices_max}, "4",
            "how many answers, 1 to 128 (default 1)");
  add_whole(*command, "--top-logprobs", flags->generate.top_logprobs,
            {0, engine::limits::top_logprobs_max}, "5",
            "with --json: alternatives reported per token, 0 to 20 (default 0)");
  add_sampling_options(*command, flags->generate);
  add_cluster_options(*command, flags->cluster);
  command->callback([&run, flags, command] {
    if (auto fit = check_flags(*command, flags->generate); !fit) throw FlagError(fit.error());
    run = [flags] { return do_generate(*flags); };
  });
}

}  // namespace troupe::cli
