// Tokenizers against those of Hugging Face and of llama.cpp, on the same text, one thread each,
// turn by turn.
//   bench_tokenizer [--json] [--rounds N] [--mb N] [--python NAME] [--llama-tokenize PROGRAM]
//                   [--assets DIR] [FILE…]
#include "text/tokenizer.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/concat.hpp"
#include "base/sha256.hpp"
#include "bench/cpu_time.hpp"
#include "bench/report.hpp"
#include "bench/tokenizer/hugging_face.hpp"
#include "bench/tokenizer/llama_cpp.hpp"
#include "bench/tokenizer/mixed_text.hpp"
#include "model/gguf_tokenizer.hpp"
#include "text/chat_template.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer_file.hpp"
#include "text/unicode_normal.hpp"
#include "text/utf8.hpp"

namespace {

using namespace troupe;
namespace fs = std::filesystem;

struct Setup {
  bool json = false;
  int rounds = 5;
  size_t megabytes = 10;
  std::string python = "python3";
  std::string llama_tokenize;
  std::string assets;
  std::vector<std::string> files;
};

template <class Work>
double seconds_of(const Work& work) {
  const double begin = bench::thread_cpu_s();
  work();
  return bench::thread_cpu_s() - begin;
}

using TokenizerPointer = std::shared_ptr<const text::Tokenizer>;

/// Ids of all documents as the other side digests them.
std::string digest_of(const text::Tokenizer& tokenizer, const std::vector<std::string>& documents) {
  Sha256 hash;
  for (const std::string& document : documents) {
    const auto ids = tokenizer.encode(document, {.parse_special = true});
    std::string line;
    for (const int32_t id : *ids) line += (line.empty() ? "" : " ") + std::to_string(id);
    line += '\n';
    hash.update(std::as_bytes(std::span(line)));
  }
  return hex(hash.finish());
}

double encode_all(const text::Tokenizer& tokenizer, const std::vector<std::string>& documents,
                  size_t& tokens) {
  tokens = 0;
  return seconds_of([&] {
    for (const std::string& document : documents) {
      tokens += tokenizer.encode(document, {.parse_special = true})->size();
    }
  });
}

/// Side by side with Hugging Face; without it only our own speed.
void compare(const Setup& setup, const std::string& name, const std::string& json,
             const text::Tokenizer& tokenizer, const std::vector<std::string>& documents,
             bool is_first, std::vector<bench::Row>& rows) {
  double megabytes = 0;
  for (const std::string& document : documents) {
    megabytes += static_cast<double>(document.size()) * 1e-6;
  }
  bench::HuggingFace other(setup.python, json, documents);
  if (!other.ready()) std::cerr << "bench: " << name << ": " << other.reason() << std::endl;
  std::vector<double> ours, theirs, ratios;
  size_t tokens = 0;
  for (int round = 0; round < setup.rounds; ++round) {
    const double mine = encode_all(tokenizer, documents, tokens);
    ours.push_back(megabytes / mine);
    const auto run = other.run();
    if (!run) continue;
    theirs.push_back(megabytes / run->cpu_s);
    ratios.push_back(run->cpu_s / mine);
    if (round > 0) continue;
    const bool same = run->tokens == tokens && run->digest == digest_of(tokenizer, documents);
    std::cerr << "bench: " << name << ": " << tokens << " tokens, "
              << (same ? "the same as" : "NOT the same as") << " tokenizers " << other.version()
              << std::endl;
  }
  rows.push_back(bench::row(name + "_mb_per_s", ours, "MB/s"));
  rows.push_back(bench::row(name + "_tokens_per_s",
                            {static_cast<double>(tokens) / megabytes * rows.back().value * 1e-6},
                            "M/s"));
  if (ratios.empty()) return;
  rows.push_back(bench::row(name + "_hf_mb_per_s", theirs, "MB/s"));
  const bench::Row ratio =
      bench::row(is_first ? "ratio_to_hf" : name + "_ratio_to_hf", ratios, "x");
  rows.push_back(bench::at_least(ratio, 5));
}

/// Side by side with llama-tokenize, which reads vocabularies from GGUF only.
void compare_llama(const Setup& setup, const std::string& name, const std::string& vocabulary,
                   const text::Tokenizer& tokenizer, const std::vector<std::string>& documents,
                   std::vector<bench::Row>& rows) {
  const bench::LlamaTokenize other(setup.llama_tokenize, vocabulary, documents);
  std::vector<double> ratios;
  for (int round = 0; round < setup.rounds; ++round) {
    size_t tokens = 0;
    const double mine = encode_all(tokenizer, documents, tokens);
    const auto theirs = other.run();
    if (!theirs) {
      std::cerr << "bench: " << name << ": " << setup.llama_tokenize << " did not work"
                << std::endl;
      return;
    }
    ratios.push_back(*theirs / mine);
  }
  rows.push_back(bench::row(name + "_ratio_to_llama", ratios, "x"));
}

/// A prompt of 200,000 tokens: on a tokenizer that never encoded anything, and again; by stage.
void measure_prompt(const Setup& setup, const text::TokenizerSpec& spec,
                    const std::vector<std::string>& documents, std::vector<bench::Row>& rows) {
  constexpr size_t wanted = 200'000;
  const TokenizerPointer tokenizer = *text::Tokenizer::make(spec);
  std::string prompt;
  for (size_t i = 0, tokens = 0; i < documents.size() && tokens < wanted; ++i) {
    prompt += documents[i];
    tokens += tokenizer->encode(documents[i])->size();
  }
  std::vector<double> cold, warm, check, normal, split;
  const text::NamedPreTokenizer* named = text::find_pre_tokenizer(spec.pre_tokenizer);
  const auto steps = named != nullptr ? text::steps_of(*named) : spec.pre_steps;
  const text::PreTokenizer pre = *text::PreTokenizer::make(steps);
  text::PreScratch scratch;
  std::vector<text::Piece> pieces;
  for (int round = 0; round < setup.rounds; ++round) {
    const TokenizerPointer fresh = *text::Tokenizer::make(spec);
    cold.push_back(1e3 * seconds_of([&] { (void)fresh->encode(prompt); }));
    warm.push_back(1e3 * seconds_of([&] { (void)fresh->encode(prompt); }));
    check.push_back(1e6 * seconds_of([&] { (void)text::first_invalid_utf8(prompt); }));
    normal.push_back(1e6 *
                     seconds_of([&] { (void)text::is_normal(prompt, text::NormalForm::nfc); }));
    std::string buffer = prompt;
    split.push_back(1e6 * seconds_of([&] { (void)pre.run(buffer, pieces, scratch, true); }));
  }
  rows.push_back(bench::at_most(bench::row("prompt_200k_ms", cold, "ms"), 60));
  rows.push_back(bench::row("prompt_200k_again_ms", warm, "ms"));
  rows.push_back(bench::row("prompt_200k_utf8_us", check, "us"));
  rows.push_back(bench::row("prompt_200k_nfc_check_us", normal, "us"));
  rows.push_back(bench::row("prompt_200k_split_us", split, "us"));
  std::vector<double> merge;
  for (size_t i = 0; i < cold.size(); ++i) {
    merge.push_back(1e3 * cold[i] - check[i] - (named != nullptr && named->nfc ? normal[i] : 0) -
                    split[i]);
  }
  rows.push_back(bench::row("prompt_200k_merge_us", merge, "us"));
}

/// A conversation of 16 messages, and its template's time: parsed once, rendered each time.
void measure_templates(const Setup& setup, const std::string& own_template,
                       std::vector<bench::Row>& rows) {
  text::RenderInput input;
  for (int i = 0; i < 16; ++i) {
    std::string content;
    for (int k = 0; k < 40; ++k) content += "some words of message " + std::to_string(i) + ", ";
    input.messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", content}});
  }
  const auto measure = [&](const std::string& name, const std::string& source) {
    const auto parsed = text::ChatTemplate::parse(source);
    if (source.empty() || !parsed.ok() || !parsed->render(input).ok()) return;
    constexpr int renders = 200;
    std::vector<double> times;
    for (int round = 0; round < setup.rounds; ++round) {
      times.push_back(1e6 / renders * seconds_of([&] {
                        for (int i = 0; i < renders; ++i) (void)parsed->render(input);
                      }));
    }
    rows.push_back(bench::row("render_" + name + "_us", times, "us"));
  };
  measure("own", own_template);
  for (const auto& [name, file] :
       {std::pair("smollm2", "SmolLM2-135M-Instruct"), std::pair("qwen3", "Qwen-Qwen3-0.6B"),
        std::pair("llama31", "meta-llama-Llama-3.1-8B-Instruct"),
        std::pair("gpt_oss", "openai-gpt-oss-120b")}) {
    std::ifstream source(fs::path(setup.assets) / "templates" / (std::string(file) + ".jinja"));
    if (!source) continue;
    std::stringstream whole;
    whole << source.rdbuf();
    measure(name, whole.str());
  }
}

/// Text that makes careless tokenizers quadratic.
void measure_odd(const Setup& setup, const text::Tokenizer& tokenizer,
                 std::vector<bench::Row>& rows) {
  constexpr size_t bytes = 1 << 20;
  std::string random_letters;
  uint32_t state = 1;
  while (random_letters.size() < bytes) {
    state = state * 1664525u + 1013904223u;
    random_letters += static_cast<char>('a' + (state >> 24) % 26);
  }
  const std::pair<const char*, std::string> odd[] = {{"one_letter_1mb_ms", std::string(bytes, 'a')},
                                                     {"spaces_1mb_ms", std::string(bytes, ' ')},
                                                     {"random_word_1mb_ms", random_letters}};
  for (const auto& one : odd) {
    std::vector<double> times;
    for (int round = 0; round < setup.rounds; ++round) {
      times.push_back(1e3 * seconds_of([&] { (void)tokenizer.encode(one.second); }));
    }
    rows.push_back(bench::row(one.first, times, "ms"));
  }
}

Setup read(int argc, char** argv) {
  Setup setup;
  const char* fixtures = std::getenv("TROUPE_FIXTURES");
  setup.assets = fixtures != nullptr ? fixtures : "../shared/fixtures";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--json") {
      setup.json = true;
    } else if (word == "--rounds" && has_value) {
      setup.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--mb" && has_value) {
      setup.megabytes = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (word == "--python" && has_value) {
      setup.python = argv[++i];
    } else if (word == "--llama-tokenize" && has_value) {
      setup.llama_tokenize = argv[++i];
    } else if (word == "--assets" && has_value) {
      setup.assets = argv[++i];
    } else if (word.starts_with("--")) {
      std::cerr << "bench: unknown option " << word << std::endl;
      std::exit(2);
    } else {
      setup.files.push_back(word);
    }
  }
  if (!setup.files.empty()) return setup;
  for (const std::string& file : {setup.assets + "/tokenizers/vocab/ggml-vocab-llama-bpe.gguf.xz",
                                  setup.assets + "/tokenizers/vocab/ggml-vocab-qwen2.gguf.xz",
                                  setup.assets + "/tokenizers/vocab/deepseek-v4-tokenizer.json.xz",
                                  std::string("weights/SmolLM2-135M-Instruct.Q4_1.gguf")}) {
    if (fs::exists(file)) setup.files.push_back(file);
  }
  return setup;
}

std::string name_of(const std::string& file) {
  std::string name = fs::path(file).filename().string();
  for (const std::string_view prefix : {"ggml-vocab-"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  name = name.substr(0, name.find('.'));
  std::ranges::replace(name, '-', '_');
  return name;
}

/// The file itself where it is a tokenizer.json, else one that is written from the spec.
std::string json_of(const std::string& file, const text::LoadedTokenizer& loaded) {
  if (loaded.kind != text::TokenizerFile::tokenizer_json) {
    return bench::to_tokenizer_json(loaded.spec);
  }
  return *text::read_unpacked(file);
}

}  // namespace

int main(int argc, char** argv) {
  const Setup setup = read(argc, argv);
  if (setup.files.empty()) {
    std::cerr << "bench: no vocabulary was found; name one, e.g. a GGUF file" << std::endl;
    return 1;
  }
  const std::vector<std::string> documents = bench::mixed_text(setup.megabytes * 1'000'000);
  std::vector<bench::Row> rows;
  for (size_t i = 0; i < setup.files.size(); ++i) {
    const auto loaded = text::read_tokenizer_file(
        setup.files[i], {model::read_vocabulary_file, model::read_vocabulary});
    const auto tokenizer = loaded.ok() ? text::Tokenizer::make(loaded->spec)
                                       : Result<TokenizerPointer>(loaded.error());
    if (!tokenizer.ok()) {
      std::cerr << "bench: " << tokenizer.error().message() << std::endl;
      return 1;
    }
    compare(setup, name_of(setup.files[i]), json_of(setup.files[i], *loaded), **tokenizer,
            documents, i == 0, rows);
    if (!setup.llama_tokenize.empty() && loaded->kind == text::TokenizerFile::gguf) {
      compare_llama(setup, name_of(setup.files[i]), *text::read_unpacked(setup.files[i]),
                    **tokenizer, documents, rows);
    }
    if (i > 0) continue;
    measure_prompt(setup, loaded->spec, documents, rows);
    measure_templates(setup, loaded->spec.chat_template, rows);
    measure_odd(setup, **tokenizer, rows);
  }
  bench::print("tokenizer", "one thread", rows, setup.json);
  return 0;
}
