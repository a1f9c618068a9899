#include "bench/tokenizer/hugging_face.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "text/pre_tokenizer.hpp"

namespace troupe::bench {

namespace {

using Json = nlohmann::ordered_json;

// Reads the tokenizer and the documents; for every line encodes all documents and prints what it
// took. encode_batch_fast is the library's fastest call; one thread.
constexpr const char* program = R"(
import hashlib, json, os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers
folder = sys.argv[1]
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
documents = json.load(open(folder + "/documents.json", encoding="utf-8"))
print(tokenizers.__version__, flush=True)
for line in sys.stdin:
    begin = time.process_time()
    encodings = tokenizer.encode_batch_fast(documents, add_special_tokens=False)
    seconds = time.process_time() - begin
    digest = hashlib.sha256()
    tokens = 0
    for encoding in encodings:
        ids = encoding.ids
        tokens += len(ids)
        digest.update((" ".join(map(str, ids)) + "\n").encode())
    print(seconds, tokens, digest.hexdigest(), flush=True)
)";

Json split_step(const text::PreStep& step) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", step.pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

}  // namespace

std::string to_tokenizer_json(const text::TokenizerSpec& spec) {
  if (spec.kind != text::TokenizerKind::byte_level_bpe ||
      spec.merge_order != text::MergeOrder::list) {
    return {};
  }
  const text::NamedPreTokenizer* named = text::find_pre_tokenizer(spec.pre_tokenizer);
  if (named == nullptr) return {};
  Json steps = Json::array();
  for (const text::PreStep& step : text::steps_of(*named)) steps.push_back(split_step(step));
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  steps.push_back(byte_level);
  Json vocab = Json::object();
  Json added = Json::array();
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    vocab[spec.tokens[i]] = i;
    const text::TokenType type = spec.types[i];
    if (type != text::TokenType::control && type != text::TokenType::user_defined) continue;
    added.push_back({{"id", i},
                     {"content", spec.tokens[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", type == text::TokenType::control}});
  }
  Json merges = Json::array();
  for (const text::SpelledMerge& merge : spec.merges) merges.push_back({merge.left, merge.right});
  const Json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", named->nfc ? Json{{"type", "NFC"}} : Json()},
                     {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
                     {"post_processor", nullptr},
                     {"decoder", byte_level},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", spec.ignore_merges || named->ignore_merges},
                       {"vocab", vocab},
                       {"merges", merges}}}};
  return root.dump();
}

HuggingFace::HuggingFace(const std::string& python, const std::string& tokenizer_json,
                         const std::vector<std::string>& documents) {
  std::string folder = (std::filesystem::temp_directory_path() / "troupe-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    reason_ = "there is no temporary folder";
    return;
  }
  folder_ = folder;
  std::ofstream(folder_ + "/tokenizer.json") << tokenizer_json;
  std::ofstream(folder_ + "/documents.json") << Json(documents).dump();
  int requests[2];
  int answers[2];
  if (pipe(requests) != 0 || pipe(answers) != 0) {
    reason_ = "there is no pipe";
    return;
  }
  child_ = fork();
  if (child_ == 0) {
    dup2(requests[0], 0);
    dup2(answers[1], 1);
    const int quiet = open("/dev/null", O_WRONLY);
    if (quiet >= 0) dup2(quiet, 2);
    for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
    execlp(python.c_str(), python.c_str(), "-c", program, folder_.c_str(),
           static_cast<char*>(nullptr));
    _exit(127);
  }
  close(requests[0]);
  close(answers[1]);
  to_ = requests[1];
  from_ = answers[0];
  const std::optional<std::string> version = read_line();
  if (version) {
    version_ = *version;
    return;
  }
  close(to_);
  to_ = -1;
  reason_ = python + " has no package tokenizers (pip install tokenizers; --python NAME)";
}

HuggingFace::~HuggingFace() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::optional<std::string> HuggingFace::read_line() {
  while (pending_.find('\n') == std::string::npos) {
    char block[4096];
    const ssize_t size = read(from_, block, sizeof block);
    if (size <= 0) return std::nullopt;
    pending_.append(block, static_cast<size_t>(size));
  }
  const size_t end = pending_.find('\n');
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

std::optional<HuggingFace::Run> HuggingFace::run() {
  if (!ready() || write(to_, "\n", 1) != 1) return std::nullopt;
  const std::optional<std::string> line = read_line();
  if (!line) return std::nullopt;
  Run run;
  std::istringstream(*line) >> run.cpu_s >> run.tokens >> run.digest;
  return run;
}

}  // namespace troupe::bench
