// The timeline of one request on the monitor's screen: a bar for each phase.
#include <algorithm>

#include "base/concat.hpp"
#include "base/result.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

/// A stretch of a request's life; `to` 0: it is not over yet.
struct Phase {
  const char* name;
  int64_t from = 0;
  int64_t to = 0;
  std::string note;
};

std::string tokens(uint32_t count) {
  return concat(count, count == 1 ? " token" : " tokens");
}

std::string prefill_note(const MonitoredRequest& request) {
  const uint32_t chunks = request.told.prefill_chunks();
  return concat(chunks, chunks == 1 ? " chunk on " : " chunks on ",
                printable(request.told.prefill_worker()));
}

std::string transfer_note(const v1::RequestTimeline& told) {
  return concat(told.blocks_moved(), told.blocks_moved() == 1 ? " block, " : " blocks, ",
                short_bytes(static_cast<double>(told.bytes_moved())), ", ",
                printable(told.transport()));
}

std::string decode_note(const MonitoredRequest& request, int64_t wall_us) {
  std::string note = tokens(request.told.output_tokens());
  if (const auto speed = request.tokens_per_s(wall_us)) {
    note += concat(", ", short_count(*speed), "/s");
  }
  if (request.told.drafted_tokens() > 0) {
    note += concat(", drafts ", request.told.accepted_tokens(), "/", request.told.drafted_tokens());
  }
  return note;
}

std::vector<Phase> phases_of(const MonitoredRequest& request, int64_t wall_us) {
  const v1::RequestTimeline& told = request.told;
  const auto at = [&](v1::Stage stage) { return request.at(stage); };
  std::vector<Phase> phases = {
      {"prepare", at(v1::STAGE_RECEIVED), at(v1::STAGE_PREPARED), tokens(told.prompt_tokens())},
      {"place", at(v1::STAGE_PREPARED), at(v1::STAGE_PLACED),
       concat("on ", printable(told.decode_worker()))},
      {"prefill", at(v1::STAGE_PREFILL_STARTED), at(v1::STAGE_PREFILL_DONE), prefill_note(request)},
      {"transfer", at(v1::STAGE_TRANSFER_STARTED), at(v1::STAGE_TRANSFER_DONE),
       transfer_note(told)},
      {"queue", at(v1::STAGE_STARTED), at(v1::STAGE_SCHEDULED),
       concat(tokens(told.cached_tokens()), " cached")},
      {"prompt", at(v1::STAGE_SCHEDULED), at(v1::STAGE_FIRST_TOKEN), "to the first token"},
      {"decode", at(v1::STAGE_FIRST_TOKEN), at(v1::STAGE_DONE), decode_note(request, wall_us)},
  };
  std::erase_if(phases, [](const Phase& phase) { return phase.from == 0; });
  // After another attempt a phase may seem to end before it began.
  for (Phase& phase : phases) {
    if (phase.to != 0) phase.to = std::max(phase.to, phase.from);
  }
  return phases;
}

std::string title_of(const MonitoredRequest& request, int64_t wall_us) {
  const v1::RequestTimeline& told = request.told;
  std::string title = concat("request ", short_id(request.id, 16), "  ", request.state());
  if (told.failure_code() != 0) {
    title += concat(" (", name(static_cast<Code>(told.failure_code())), ")");
  }
  if (const auto ttft = request.ttft_us()) title += concat("  first token ", short_duration(*ttft));
  const int64_t end = request.is_over() ? request.end_us() : wall_us;
  title += concat("  ", request.is_over() ? "whole " : "so far ",
                  short_duration(end - request.begin_us()));
  title += concat("  began ", time_of_day(request.begin_us()));
  if (told.attempt() > 1) title += concat("  attempt ", told.attempt());
  if (told.prompt_hash() != 0) title += concat("  hash ", short_id(told.prompt_hash(), 16));
  return title;
}

/// The phase within the request's whole time, `width` characters.
std::string drawn(const Phase& phase, int64_t begin, int64_t end, size_t width) {
  std::string line(width, '.');
  const double whole = std::max<double>(1, static_cast<double>(end - begin));
  const auto place = [&](int64_t at) {
    const double share = std::clamp(static_cast<double>(at - begin) / whole, 0.0, 1.0);
    return std::min(width - 1, static_cast<size_t>(share * static_cast<double>(width)));
  };
  const size_t from = place(phase.from);
  const size_t to = std::max(from, place(phase.to == 0 ? end : phase.to));
  for (size_t i = from; i <= to; ++i) line[i] = '=';
  if (phase.to == 0) line[to] = '>';
  return line;
}

}  // namespace

std::vector<ScreenLine> timeline_lines(const MonitoredRequest& request, int64_t wall_us,
                                       size_t columns) {
  std::vector<ScreenLine> lines;
  lines.push_back(fit({{title_of(request, wall_us), Style::bold}}, columns));
  const int64_t begin = request.begin_us();
  const int64_t end = std::max(request.is_over() ? request.end_us() : wall_us, begin);
  constexpr size_t name_width = 9;
  constexpr size_t time_width = 10;
  const size_t note_width = columns >= 120 ? 44 : 30;
  const size_t bar_width = columns > name_width + time_width + note_width + 10
                               ? columns - name_width - time_width - note_width - 3
                               : 8;
  for (const Phase& phase : phases_of(request, wall_us)) {
    const bool over = phase.to != 0 || request.is_over();
    const int64_t lasted = (phase.to != 0 ? phase.to : end) - phase.from;
    ScreenLine line = {
        {fit_left(phase.name, name_width)},
        {drawn(phase, begin, end, bar_width), over ? Style::plain : Style::good},
        {fit_right(short_duration(lasted), time_width) + "  "},
        {phase.note, Style::dim},
    };
    lines.push_back(fit(std::move(line), columns));
  }
  return lines;
}

}  // namespace troupe::cli
