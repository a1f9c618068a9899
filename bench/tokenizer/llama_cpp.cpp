#include "bench/tokenizer/llama_cpp.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace troupe::bench {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

LlamaTokenize::LlamaTokenize(std::string program, const std::string& vocabulary,
                             const std::vector<std::string>& documents)
    : program_(std::move(program)) {
  std::string folder = (std::filesystem::temp_directory_path() / "troupe-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return;
  folder_ = folder;
  std::ofstream(folder_ + "/vocabulary.gguf") << vocabulary;
  std::ofstream(folder_ + "/empty.txt") << "a";
  std::ofstream text(folder_ + "/documents.txt");
  for (const std::string& document : documents) text << document;
}

LlamaTokenize::~LlamaTokenize() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::optional<double> LlamaTokenize::cpu_s(const std::string& text_file) const {
  const std::string vocabulary = folder_ + "/vocabulary.gguf";
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execl(program_.c_str(), program_.c_str(), "-m", vocabulary.c_str(), "-f", text_file.c_str(),
          "--ids", "--log-disable", "--no-escape", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<double> LlamaTokenize::run() const {
  if (folder_.empty()) return std::nullopt;
  const auto empty = cpu_s(folder_ + "/empty.txt");
  const auto whole = cpu_s(folder_ + "/documents.txt");
  if (!empty || !whole) return std::nullopt;
  return *whole - *empty;
}

}  // namespace troupe::bench
