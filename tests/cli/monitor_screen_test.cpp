// The monitor's screen as text, at three sizes, and what keys do to it.
#include "cli/monitor_screen.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/screen_text.hpp"
#include "tests/cli/monitored_cluster.hpp"

using namespace troupe;
using namespace troupe::cli;
using namespace troupe::testing;

namespace {

std::string text_of(const std::vector<ScreenLine>& lines) {
  std::string text;
  for (const ScreenLine& line : lines) text += plain_text(line) + "\n";
  return text;
}

bool shows(const std::string& screen, const std::string& part) {
  return screen.find(part) != std::string::npos;
}

/// Three requests, one of which still runs.
void fill(FakeCluster& cluster, MonitorModel& model) {
  cluster.tell(model);
  cluster.whole_request(0xaaaa000000000001);
  cluster.whole_request(0xbbbb000000000002);
  cluster.begin_request(0xcccc000000000003);
  cluster.decode.metrics.set(v1::METRIC_RUNNING_SEQUENCES, 1);
  cluster.decode.metrics.set(v1::METRIC_DEVICE_BLOCKS, 512);
  cluster.decode.metrics.set(v1::METRIC_DEVICE_BLOCKS_FREE, 128);
  cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 65);
  cluster.decode.metrics.add(v1::METRIC_PROMPT_TOKENS, 1000);
  cluster.decode.metrics.add(v1::METRIC_CACHED_TOKENS, 630);
  cluster.decode.metrics.add(v1::METRIC_DRAFTED_TOKENS, 40);
  cluster.decode.metrics.add(v1::METRIC_ACCEPTED_TOKENS, 18);
  cluster.decode.metrics.observe(v1::DISTRIBUTION_TTFT, 63'000, 3);
  cluster.decode.metrics.observe(v1::DISTRIBUTION_ITL, 9'700, 60);
  cluster.decode.metrics.add(v1::METRIC_HANDOVERS, 3);
  cluster.decode.metrics.add(v1::METRIC_MOVED_BLOCKS, 12);
  cluster.decode.metrics.set(v1::METRIC_READ_BYTES_SHARED_MEMORY, 6u << 20);
  cluster.tell(model, 1'000'000);
}

void check_size(const std::vector<ScreenLine>& lines, ScreenSize size) {
  REQUIRE(lines.size() == size.rows);
  for (const ScreenLine& line : lines) {
    size_t width = 0;
    for (const StyledText& piece : line) {
      width += piece.text.size();
      for (const char c : piece.text) REQUIRE((c >= ' ' && c <= '~'));
    }
    CHECK(width == size.columns);
  }
}

MonitorStatus live(int64_t wall_us) {
  return {"live", "", wall_us};
}

}  // namespace

TEST_CASE("the screen at 80x24") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  const auto lines = layout(model, {}, live(cluster.wall_us), {80, 24});
  check_size(lines, {80, 24});
  const std::string screen = text_of(lines);
  MESSAGE(screen);
  for (const char* part :
       {"troupe monitor  test  live", "q quit", "12:00:", "3 of 3 ready", "1 running",
        "tokens/s  prefill 0  decode 36.3", "45% of 40 accepted", "384/512 in use", "hit rate 63%",
        "3 done, 0 failed, 12 blocks; 6.00 MiB shm", "directory,router,front", "cccc0000  decode",
        "aaaa0000  stop", "request cccc000000000003  decode", "prefill  ", "transfer ",
        "4 blocks, 2.00 MiB, shared_m", "requests by newest"}) {
    CHECK_MESSAGE(shows(screen, part), std::string(part));
  }
}

TEST_CASE("wider and higher screens show more") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  const auto middle = layout(model, {}, live(cluster.wall_us), {120, 40});
  check_size(middle, {120, 40});
  const std::string screen = text_of(middle);
  MESSAGE(screen);
  for (const char* part : {"memory", "300 MiB", "prefill on", "moved", "shared_memory", "cpu"}) {
    CHECK_MESSAGE(shows(screen, part), std::string(part));
  }
  const auto large = layout(model, {}, live(cluster.wall_us), {200, 60});
  check_size(large, {200, 60});
  const std::string wide = text_of(large);
  for (const char* part : {"127.0.0.1:4000", "incarn.", "hash", "12345678", "drafts", "pid"}) {
    CHECK_MESSAGE(shows(wide, part), std::string(part));
  }
}

TEST_CASE("every size from tiny to huge has exactly its lines") {
  FakeCluster cluster;
  MonitorModel full("test");
  fill(cluster, full);
  const MonitorModel empty("test");
  for (size_t rows = 1; rows <= 70; rows += 3) {
    for (size_t columns = 1; columns <= 240; columns += 13) {
      for (const bool detail : {false, true}) {
        MonitorView view;
        view.detail = detail;
        view.on_nodes = rows % 2 == 0;
        check_size(layout(full, view, live(cluster.wall_us), {columns, rows}), {columns, rows});
        check_size(layout(empty, view, live(cluster.wall_us), {columns, rows}), {columns, rows});
        view.help = true;
        check_size(layout(full, view, live(cluster.wall_us), {columns, rows}), {columns, rows});
      }
    }
  }
  CHECK(shows(text_of(layout(full, {}, live(cluster.wall_us), {50, 20})), "at least 60x16"));
}

TEST_CASE("hundreds of nodes and requests stay within the screen, the selected one in sight") {
  MonitorModel model("test");
  v1::Members members;
  for (uint64_t i = 1; i <= 300; ++i) {
    *members.add_nodes() = node_info("node-" + std::to_string(i), {"decode"}, i);
  }
  model.take_members(members, noon_us);
  FakeNode one;
  one.info = members.nodes(0);
  for (uint64_t id = 1; id <= 200; ++id) {
    one.metrics.change_request(id << 32, [id](v1::RequestTimeline& told) {
      told.set_prompt_tokens(static_cast<uint32_t>(id));
      actors::reach(told, v1::STAGE_STARTED, static_cast<TimeUs>(noon_us + id));
    });
  }
  REQUIRE(model.take_update("node-1", one.update(noon_us + 1000), noon_us + 1000) ==
          actors::Taken::taken);
  MonitorView view;
  const ScreenSize size{80, 24};
  for (int i = 0; i < 250; ++i) {
    const auto lines = layout(model, view, live(noon_us + 1000), size);
    check_size(lines, size);
    const bool in_sight = std::any_of(lines.begin(), lines.end(), [](const ScreenLine& line) {
      return !line.empty() && line[0].style == Style::selected;
    });
    REQUIRE(in_sight);
    on_key(view, MonitorKey::down, model, 5);
  }
  CHECK(view.selected == ordered_requests(model, view).back().id);
  CHECK(shows(text_of(layout(model, view, live(noon_us), size)), "not heard"));
}

TEST_CASE("keys sort, reverse, pick, page, help and quit") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  MonitorView view;
  const auto press = [&](char key) { on_key(view, key_of(key), model, 2); };
  press('j');
  CHECK(view.selected == 0xbbbb000000000002);
  press('G');
  CHECK(view.selected == 0xaaaa000000000001);
  press('k');
  CHECK(view.selected == 0xbbbb000000000002);
  on_key(view, MonitorKey::page_up, model, 2);
  CHECK(view.selected == 0xcccc000000000003);
  press('r');
  CHECK(ordered_requests(model, view)[0].id == 0xaaaa000000000001);
  press('r');
  press('s');
  CHECK(view.request_order == RequestOrder::state);
  CHECK(ordered_requests(model, view)[0].id == 0xcccc000000000003);
  for (int i = 0; i < 5; ++i) press('s');
  CHECK(view.request_order == RequestOrder::newest);
  press('\t');
  press('s');
  CHECK(view.node_order == NodeOrder::running);
  CHECK(ordered_nodes(model, view)[0]->info.name() == "decode");
  press('j');
  CHECK(view.first_node == 1);
  press('?');
  CHECK(shows(text_of(layout(model, view, live(noon_us), {80, 24})), "pick a request"));
  press(' ');
  CHECK(view.paused);
  press('x');
  CHECK_FALSE(view.quit);
  press('q');
  CHECK(view.quit);
}

TEST_CASE("on a low screen Enter shows the timeline in place of the nodes") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  MonitorView view;
  const ScreenSize low{80, 18};
  CHECK_FALSE(shows(text_of(layout(model, view, live(noon_us), low)), "first token"));
  on_key(view, key_of('\n'), model, 2);
  const std::string screen = text_of(layout(model, view, live(noon_us), low));
  CHECK(shows(screen, "first token"));
  CHECK_FALSE(shows(screen, "directory,router,front"));
}

TEST_CASE("what nodes call themselves can't move the cursor") {
  MonitorModel model("evil\x1b[2J");
  v1::Members members;
  v1::NodeInfo* info = members.add_nodes();
  *info = node_info("no\nde\x1b[31m", {"dec\tode"}, 1);
  info->set_health(
      "re\x07"
      "ady");
  info->set_host("\xC3\xA9");
  info->set_device("\r\n");
  model.take_members(members, noon_us);
  check_size(layout(model, {}, live(noon_us), {200, 60}), {200, 60});
  for (const ScreenLine& line : page(model, {"\x1b", "\x1b", noon_us}, 132)) {
    for (const StyledText& piece : line) {
      for (const char c : piece.text) REQUIRE((c >= ' ' && c <= '~'));
    }
  }
}

TEST_CASE("trouble is said at the bottom, silence in the health of the node") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  const MonitorStatus status{"live", "the directory has not answered for 4 s",
                             cluster.wall_us + 4'000'000};
  const std::string screen = text_of(layout(model, {}, status, {80, 24}));
  CHECK(shows(screen, "the directory has not answered for 4 s"));
  CHECK(shows(screen, "silent 4.00 s"));
}

TEST_CASE("a page shows all nodes, requests and a timeline") {
  FakeCluster cluster;
  MonitorModel model("test");
  fill(cluster, model);
  const std::string text = text_of(page(model, {"", "", cluster.wall_us}, 132));
  MESSAGE(text);
  for (const char* part : {"cluster test", "prefill", "cccc0000", "aaaa0000", "transfer"}) {
    CHECK_MESSAGE(shows(text, part), std::string(part));
  }
}

TEST_CASE("numbers are short and read as people read them") {
  CHECK(short_count(0) == "0");
  CHECK(short_count(987) == "987");
  CHECK(short_count(87.32) == "87.3");
  CHECK(short_count(12345) == "12.3k");
  CHECK(short_count(999'600) == "1.00M");
  CHECK(short_count(-1) == "?");
  CHECK(short_bytes(512) == "512 B");
  CHECK(short_bytes(1.25 * (1 << 20)) == "1.25 MiB");
  CHECK(short_duration(850) == "850 us");
  CHECK(short_duration(12'345) == "12.3 ms");
  CHECK(short_duration(4'560'000) == "4.56 s");
  CHECK(short_duration(200'000'000) == "3m20s");
  CHECK(short_duration(7'500'000'000) == "2h05m");
  CHECK(short_duration(356'400'000'000) == "4d03h");
  CHECK(short_duration(INT64_MIN).starts_with("-"));
  CHECK(percent(63, 100) == "63%");
  CHECK(percent(1, 0) == "-");
  CHECK(bar(0.4, 10) == "[####......]");
  CHECK(bar(7, 3) == "[###]");
  CHECK(time_of_day(noon_us) == "12:00:00Z");
  CHECK(short_id(0xab) == "00000000");
  CHECK(short_id(0xab, 16) == "00000000000000ab");
}
