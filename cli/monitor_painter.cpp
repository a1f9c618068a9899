#include "cli/monitor_painter.hpp"

#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <string>

// Its macros would rename functions of ours.
#define NCURSES_NOMACROS 1
#include <curses.h>

namespace troupe::cli {
namespace {

constexpr short good_pair = 1;
constexpr short warning_pair = 2;
constexpr short bad_pair = 3;
/// Ctrl-L: what another program wrote over the screen goes.
constexpr int redraw_key = 'L' & 31;

attr_t attributes(Style style) {
  switch (style) {
    case Style::plain:
      return A_NORMAL;
    case Style::bold:
      return A_BOLD;
    case Style::dim:
      return A_DIM;
    case Style::title:
    case Style::selected:
      return A_REVERSE;
    case Style::good:
      return COLOR_PAIR(good_pair);
    case Style::warning:
      return COLOR_PAIR(warning_pair) | A_BOLD;
    case Style::bad:
      return COLOR_PAIR(bad_pair) | A_BOLD;
  }
  return A_NORMAL;
}

MonitorKey translate(int key) {
  switch (key) {
    case KEY_UP:
      return MonitorKey::up;
    case KEY_DOWN:
      return MonitorKey::down;
    case KEY_PPAGE:
      return MonitorKey::page_up;
    case KEY_NPAGE:
      return MonitorKey::page_down;
    case KEY_HOME:
      return MonitorKey::home;
    case KEY_END:
      return MonitorKey::end;
    case KEY_ENTER:
      return MonitorKey::detail;
    default:
      return key > 0 && key < 128 ? key_of(static_cast<char>(key)) : MonitorKey::none;
  }
}

}  // namespace

struct MonitorPainter::Terminal {
  SCREEN* screen = nullptr;
  int empty_reads = 0;

  ~Terminal() {
    if (screen == nullptr) return;
    ::endwin();
    ::delscreen(screen);
  }
};

MonitorPainter::~MonitorPainter() = default;

Result<std::unique_ptr<MonitorPainter>> MonitorPainter::open() {
  const char* hint = "troupe monitor --once prints one page, with --json one object";
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return error(Code::failed_precondition, "a monitor's screen needs a terminal", hint);
  }
  std::setlocale(LC_ALL, "");
  std::unique_ptr<MonitorPainter> painter(new MonitorPainter);
  painter->terminal_ = std::make_unique<Terminal>();
  painter->terminal_->screen = ::newterm(nullptr, stdout, stdin);
  if (painter->terminal_->screen == nullptr) {
    return error(Code::failed_precondition, "the terminal is of a kind that is not known (TERM)",
                 hint);
  }
  painter->begin();
  return painter;
}

void MonitorPainter::begin() {
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, true);
  ::nodelay(stdscr, true);
  ::set_escdelay(25);
  ::curs_set(0);
  if (!::has_colors()) return;
  ::start_color();
  ::use_default_colors();
  ::init_pair(good_pair, COLOR_GREEN, -1);
  ::init_pair(warning_pair, COLOR_YELLOW, -1);
  ::init_pair(bad_pair, COLOR_RED, -1);
}

ScreenSize MonitorPainter::size() const {
  return {static_cast<size_t>(getmaxx(stdscr)), static_cast<size_t>(getmaxy(stdscr))};
}

MonitorKey MonitorPainter::wait_key(int timeout_ms) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&input, 1, timeout_ms);
  if (ready > 0 && (input.revents & POLLIN) == 0) return MonitorKey::quit;
  // Also after a signal: the new size of the window comes as a key.
  const int key = ::wgetch(stdscr);
  // Readable and nothing to read, again and again: its other end was closed.
  if (key == redraw_key) ::clearok(stdscr, true);
  terminal_->empty_reads = key == ERR && ready > 0 ? terminal_->empty_reads + 1 : 0;
  return terminal_->empty_reads > 3 ? MonitorKey::quit : translate(key);
}

void MonitorPainter::paint(const std::vector<ScreenLine>& lines) {
  ::werase(stdscr);
  int row = 0;
  for (const ScreenLine& line : lines) {
    int column = 0;
    for (const StyledText& piece : line) {
      ::wattrset(stdscr, static_cast<int>(attributes(piece.style)));
      // The last cell of the screen can't be written without scrolling; ncurses knows, and refuses.
      ::mvwaddnstr(stdscr, row, column, piece.text.c_str(), static_cast<int>(piece.text.size()));
      column += static_cast<int>(piece.text.size());
    }
    ++row;
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wrefresh(stdscr);
}

}  // namespace troupe::cli
