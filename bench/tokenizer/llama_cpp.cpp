#include "bench/tokenizer/llama_cpp.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace troupe::bench {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

LlamaTokenize::LlamaTokenize(std::string program, const std::string& vocabulary,
                             const std::vector<std::string>& documents)
    : program_(std::move(program)) {
  folder_.write("vocabulary.gguf", vocabulary);
  folder_.write("empty.txt", "a");
  std::string text;
  for (const std::string& document : documents) text += document;
  folder_.write("documents.txt", text);
}

std::optional<double> LlamaTokenize::cpu_s(const std::string& text_file) const {
  const std::string vocabulary = folder_.path("vocabulary.gguf");
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
  const auto empty = cpu_s(folder_.path("empty.txt"));
  const auto whole = cpu_s(folder_.path("documents.txt"));
  if (!empty || !whole) return std::nullopt;
  return *whole - *empty;
}

}  // namespace troupe::bench
