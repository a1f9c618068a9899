#include "base/log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace troupe;

namespace {

/// Collects lines while it lives, then gives stderr and the level back.
class Capture {
 public:
  Capture() {
    set_log_sink([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~Capture() {
    set_log_sink({});
    set_log_level(before_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::vector<std::string> lines;

 private:
  LogLevel before_ = log_level();
};

}  // namespace

TEST_CASE("a line has time, level, component and message") {
  Capture capture;
  log_warning("router", "worker decode-1 is gone");
  REQUIRE(capture.lines.size() == 1);
  std::string line = capture.lines[0];
  for (char& c : line) {
    if (c >= '0' && c <= '8') c = '9';
  }
  CHECK(line == "9999-99-99T99:99:99.999Z warning router: worker decode-9 is gone");
}

TEST_CASE("lines below the level are dropped") {
  Capture capture;
  set_log_level(LogLevel::warning);
  log_info("x", "dropped");
  log_error("x", "kept");
  set_log_level(LogLevel::off);
  log_error("x", "dropped");
  CHECK(capture.lines.size() == 1);
}

TEST_CASE("levels are parsed by name, anything else is the fallback") {
  CHECK(parse_log_level("debug", LogLevel::info) == LogLevel::debug);
  CHECK(parse_log_level("off", LogLevel::info) == LogLevel::off);
  CHECK(parse_log_level("DEBUG", LogLevel::error) == LogLevel::error);
  CHECK(parse_log_level("", LogLevel::info) == LogLevel::info);
}

TEST_CASE("threads don't mix their lines") {
  Capture capture;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) log_info("thread", "0123456789");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(capture.lines.size() == 400);
  for (const std::string& line : capture.lines) REQUIRE(line.ends_with("thread: 0123456789"));
}
