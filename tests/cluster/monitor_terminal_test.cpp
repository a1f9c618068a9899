// The monitor's screen on a real terminal: it paints, follows the window, and leaves the terminal
// as it was however it ends.
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <utmp.h>

#include <cstring>
#include <fstream>

#include "tests/support/cluster_fixture.hpp"
#include "tests/support/folders.hpp"

namespace troupe::testing {
namespace {

/// The troupe binary on a pseudo-terminal of its own.
class OnTerminal {
 public:
  OnTerminal(const std::vector<std::string>& arguments, const std::filesystem::path& run_folder) {
    winsize size{24, 80, 0, 0};
    REQUIRE(::openpty(&master_, &slave_, nullptr, nullptr, &size) == 0);
    REQUIRE(::tcgetattr(slave_, &before_) == 0);
    std::vector<std::string> words = {binary_folder() + "/troupe"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // All memory is made before the fork: other threads may hold the allocator's locks.
    std::vector<std::string> settings = {"TERM=xterm-256color",
                                         "TROUPE_RUN_DIR=" + run_folder.string()};
    std::vector<char*> variables;
    for (std::string& setting : settings) variables.push_back(setting.data());
    variables.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::login_tty(slave_);
      ::execve(pointers[0], pointers.data(), variables.data());
      ::_exit(127);
    }
  }
  ~OnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(master_);
    ::close(slave_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  /// Everything that was painted since the last call of forget().
  const std::string& output() {
    for (;;) {
      pollfd ready{master_, POLLIN, 0};
      if (::poll(&ready, 1, 0) <= 0 || (ready.revents & POLLIN) == 0) return output_;
      char piece[4096];
      const ssize_t count = ::read(master_, piece, sizeof piece);
      if (count <= 0) return output_;
      output_.append(piece, static_cast<size_t>(count));
    }
  }
  void forget() {
    entered_ = entered_ || output().find(enter) != std::string::npos;
    output_.clear();
  }
  /// Asks for the whole screen again and again: otherwise only what changes is written.
  bool shows(const std::string& text, int64_t timeout_ms = 10'000) {
    const auto painted = [&] {
      type("\x0c");
      return eventually([&] { return output().find(text) != std::string::npos; }, 300);
    };
    return eventually(painted, timeout_ms);
  }
  void type(const std::string& keys) {
    REQUIRE(::write(master_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  void resize(uint16_t rows, uint16_t columns) {
    const winsize size{rows, columns, 0, 0};
    REQUIRE(::ioctl(master_, TIOCSWINSZ, &size) == 0);
  }
  void send(int signal) const { ::kill(pid_, signal); }

  /// It ends by itself, and the terminal is as it was: modes, cursor, screen.
  void check_clean_end(int expected_exit) {
    int status = 0;
    const auto is_over = [&] {
      (void)output();
      return ::waitpid(pid_, &status, WNOHANG) == pid_;
    };
    REQUIRE(eventually(is_over, 10'000));
    pid_ = 0;
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == expected_exit);
    const std::string& said = output();
    REQUIRE((entered_ || said.find(enter) != std::string::npos));
    CHECK(said.rfind("\x1b[?1049l") != std::string::npos);
    const size_t shown = said.rfind("\x1b[?25h");
    const size_t hidden = said.rfind("\x1b[?25l");
    REQUIRE(shown != std::string::npos);
    CHECK((hidden == std::string::npos || hidden < shown));
    termios after{};
    REQUIRE(::tcgetattr(slave_, &after) == 0);
    CHECK(after.c_lflag == before_.c_lflag);
    CHECK(after.c_iflag == before_.c_iflag);
    CHECK(after.c_oflag == before_.c_oflag);
  }

 private:
  static constexpr const char* enter = "\x1b[?1049h";
  int master_ = -1;
  int slave_ = -1;
  termios before_{};
  pid_t pid_ = 0;
  std::string output_;
  bool entered_ = false;
};

TEST_CASE("terminal: the screen of a cluster, keys, window, and every way to leave") {
  TestCluster cluster;
  cluster.up();
  const std::vector<std::string> monitor = {"monitor"};
  {
    INFO("q");
    OnTerminal screen(monitor, cluster.path() / "run");
    CHECK(screen.shows("3 of 3 ready"));
    CHECK(screen.shows("decode"));
    screen.type("?");
    CHECK(screen.shows("pick a request"));
    screen.type("?");
    screen.forget();
    screen.resize(40, 200);
    CHECK(screen.shows("127.0.0.1:"));
    screen.forget();
    screen.resize(10, 40);
    CHECK(screen.shows("at least 60x16"));
    screen.type("q");
    screen.check_clean_end(0);
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    INFO("signal ", signal);
    OnTerminal screen(monitor, cluster.path() / "run");
    CHECK(screen.shows("3 of 3 ready"));
    screen.send(signal);
    screen.check_clean_end(0);
  }
  {
    INFO("Ctrl-C, as the terminal makes it");
    OnTerminal screen(monitor, cluster.path() / "run");
    CHECK(screen.shows("3 of 3 ready"));
    screen.type("\x03");
    screen.check_clean_end(0);
  }
  {
    INFO("the cluster goes away");
    OnTerminal screen(monitor, cluster.path() / "run");
    CHECK(screen.shows("3 of 3 ready"));
    cluster.stop();
    screen.check_clean_end(1);
    CHECK(screen.output().find("is gone") != std::string::npos);
  }
}

TEST_CASE("terminal: a replay needs no cluster") {
  TestCluster nothing;
  const std::filesystem::path file = nothing.path() / "seen.jsonl";
  std::ofstream(file)
      << R"({"troupe_recording":1,"cluster":"then","start_wall_us":1769860800000000})"
      << "\n"
      << R"({"wall_us":1769860800000000,"members":{"nodes":[{"name":"only","roles":["decode"],)"
      << R"("incarnation":"0000000000000001","health":"ready"}]}})"
      << "\n";
  OnTerminal screen({"monitor", "--replay", file.string()}, nothing.path() / "run");
  CHECK(screen.shows("1 of 1 ready"));
  CHECK(screen.shows("end of"));
  screen.type("q");
  screen.check_clean_end(0);
}

}  // namespace
}  // namespace troupe::testing
