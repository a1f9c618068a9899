#include "bench/gateway/server_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/concat.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::bench {
namespace {

constexpr int start_s_max = 120, end_s_max = 20;

bool answers_200(uint16_t port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = testing::loopback(port);
  char reply[16] = {};
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        concat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, 2'000) > 0) ::recv(fd, reply, sizeof reply - 1, 0);
  }
  ::close(fd);
  return std::string_view(reply).starts_with("HTTP/1.1 200");
}

[[noreturn]] void run(const std::vector<std::string>& words, const std::string& log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

uint16_t free_port() {
  const uint16_t port = testing::free_port();
  if (port != 0) return port;
  std::perror("bench_gateway: no port is free");
  std::exit(1);
}

ServerProgram::ServerProgram(const std::vector<std::string>& words, uint16_t port,
                             const std::string& ready, const std::string& log)
    : port_(port), pid_(::fork()) {
  if (pid_ == 0) run(words, log);
  for (int tenths = 0; tenths < 10 * start_s_max && !has_ended(); ++tenths) {
    if (answers_200(port_, ready)) return;
    ::usleep(100'000);
  }
  std::fprintf(stderr, "bench_gateway: %s does not answer; see %s\n", words[0].c_str(),
               log.c_str());
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  std::exit(1);
}

bool ServerProgram::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ <= 0;
}

ServerProgram::~ServerProgram() {
  if (has_ended()) return;
  ::kill(pid_, SIGTERM);
  for (int tenths = 0; tenths < 10 * end_s_max; ++tenths) {
    if (has_ended()) return;
    ::usleep(100'000);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace troupe::bench
