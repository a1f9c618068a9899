// Recordings: what was recorded is replayed, and what is no recording is refused with its line.
#include "cli/recording.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/monitor_feed.hpp"
#include "cli/monitor_json.hpp"
#include "cli/monitor_screen.hpp"
#include "tests/cli/monitored_cluster.hpp"
#include "tests/launch/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::cli;
using namespace troupe::testing;

namespace {

/// Records a made-up cluster and gives the model as it was seen live.
MonitorModel record(const std::string& path) {
  auto writer = RecordingWriter::create(path, "test", noon_us);
  REQUIRE(writer.ok());
  FakeCluster cluster;
  MonitorModel model("test");
  for (uint64_t id = 1; id <= 20; ++id) {
    cluster.whole_request(id);
    cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 32);
    cluster.decode.metrics.observe(v1::DISTRIBUTION_ITL, 9'000, 31);
    cluster.wall_us += 500'000;
    const v1::Members members = cluster.members();
    model.take_members(members, cluster.wall_us);
    REQUIRE(writer->add_members(members, cluster.wall_us).ok());
    for (FakeNode* node : cluster.nodes()) {
      const v1::MetricsUpdate update = node->update(cluster.wall_us);
      CHECK(model.take_update(node->info.name(), update, cluster.wall_us) == actors::Taken::taken);
      REQUIRE(writer->add_update(node->info.name(), update, cluster.wall_us).ok());
    }
  }
  return model;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Error refusal(const std::vector<std::string>& lines) {
  RecordingParser parser;
  for (const std::string& line : lines) {
    auto event = parser.take_line(line);
    if (!event) return event.error();
  }
  return error(Code::ok, "");
}

const std::string header = R"({"troupe_recording":1,"cluster":"test","start_wall_us":5})";

}  // namespace

TEST_CASE("a replay ends as the live view did, to the last digit") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "seen.jsonl";
  const MonitorModel seen = record(path);
  auto feed = ReplayFeed::open(path);
  REQUIRE(feed.ok());
  REQUIRE(feed->finish().ok());
  CHECK(feed->at_end());
  CHECK(to_json(feed->model()) == to_json(seen));
  const MonitorStatus status{"", "", seen.wall_us()};
  const auto replayed = page(feed->model(), status, 132);
  const auto live = page(seen, status, 132);
  REQUIRE(replayed.size() == live.size());
  for (size_t i = 0; i < live.size(); ++i) CHECK(plain_text(replayed[i]) == plain_text(live[i]));
}

TEST_CASE("a replay takes its time") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "seen.jsonl";
  (void)record(path);
  auto feed = ReplayFeed::open(path);
  REQUIRE(feed.ok());
  const int64_t began = feed->wall_us();
  CHECK(feed->model().requests().empty());
  REQUIRE(feed->advance(1'000).ok());
  CHECK(feed->model().requests().size() == 1);
  REQUIRE(feed->advance(3'000'000).ok());
  const size_t some = feed->model().requests().size();
  CHECK(some > 1);
  CHECK(some < 20);
  CHECK(feed->wall_us() == began + 3'001'000);
  REQUIRE(feed->advance(60'000'000).ok());
  CHECK(feed->at_end());
  CHECK(feed->model().requests().size() == 20);
  // Its clock stands at the last event, however long somebody looks at it, and however fast.
  auto whole = ReplayFeed::open(path);
  REQUIRE(whole.ok());
  REQUIRE(whole->finish().ok());
  CHECK(feed->wall_us() == whole->wall_us());
  REQUIRE(feed->advance(60'000'000).ok());
  CHECK(feed->wall_us() == whole->wall_us());
}

TEST_CASE("a recording is not overwritten, and belongs to its user") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "seen.jsonl";
  REQUIRE(RecordingWriter::create(path, "test", noon_us).ok());
  const auto again = RecordingWriter::create(path, "test", noon_us);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == Code::failed_precondition);
  CHECK_FALSE(again.error().hint.empty());
  using std::filesystem::perms;
  const perms mode = std::filesystem::status(path).permissions();
  CHECK((mode & (perms::group_all | perms::others_all)) == perms::none);
  CHECK_FALSE(RecordingWriter::create(folder.path() / "no" / "such", "test", noon_us).ok());
}

TEST_CASE("a line that was not written to its end is left out") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "seen.jsonl";
  (void)record(path);
  const auto size = std::filesystem::file_size(path);
  for (const size_t cut : {1, 5, 100}) {
    std::filesystem::resize_file(path, size - cut);
    auto feed = ReplayFeed::open(path);
    REQUIRE(feed.ok());
    CHECK(feed->finish().ok());
  }
}

TEST_CASE("what is no recording is refused, with the line and what would be right") {
  CHECK(refusal({header}).code == Code::ok);
  CHECK(refusal({""}).what.find("line 1") == 0);
  CHECK(refusal({"{}"}).what.find("no recording") != std::string::npos);
  CHECK(refusal({R"({"cluster":"test"})"}).what.find("no recording") != std::string::npos);
  const Error later = refusal({R"({"troupe_recording":2})"});
  CHECK(later.code == Code::unsupported);
  CHECK(later.hint.find("version 1") != std::string::npos);
  CHECK(refusal({header, header}).what.find("line 2: the line has a field") == 0);
  CHECK(refusal({header, R"({"wall_us":5})"}).what.find("neither") != std::string::npos);
  CHECK(refusal({header, R"({"wall_us":5,"members":{},"update":{}})"}).what.find("both") !=
        std::string::npos);
  CHECK(refusal({header, R"({"members":{}})"}).what.find("wall_us") != std::string::npos);
  CHECK(refusal({header, R"({"wall_us":5,"update":{}})"}).what.find("which node") !=
        std::string::npos);
  CHECK(refusal({header, R"({"wall_us":5,"members":{}})", R"({"wall_us":4,"members":{}})"})
            .what.find("line 3: wall_us goes back") == 0);
}

TEST_CASE("files that can't be read say so") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "file";
  CHECK(RecordingReader::open(path).error().code == Code::not_found);
  std::ofstream(path).close();
  CHECK(RecordingReader::open(path).error().what.find("is empty") != std::string::npos);
  std::ofstream(path) << header << "\n{\"wall_us\":1,\"members\":{}}\nnonsense\n";
  auto feed = ReplayFeed::open(path);
  REQUIRE(feed.ok());
  const Status status = feed->finish();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().what.find(path + ", line 3: ") == 0);
  std::ofstream(path) << header << "\n" << std::string(2u << 20, 'x') << "\n";
  CHECK(ReplayFeed::open(path).error().what.find("too long") != std::string::npos);
  std::ofstream(path) << header << "\n" << std::string(2u << 20, '\0') << "\n";
  CHECK(ReplayFeed::open(path).error().what.find("too long") != std::string::npos);
  CHECK(RecordingReader::open("/dev/zero").error().what.find("too long") != std::string::npos);
  CHECK_FALSE(RecordingReader::open(folder.path()).ok());
}

TEST_CASE("each line of a recording stands for itself") {
  const launch::TemporaryFolder folder;
  const std::string path = folder.path() / "seen.jsonl";
  (void)record(path);
  const auto lines = lines_of(path);
  CHECK(lines.size() == 1 + 20 * 4);
  RecordingParser parser;
  for (const std::string& line : lines) {
    CHECK(nlohmann::json::accept(line));
    CHECK(parser.take_line(line).ok());
  }
  CHECK(parser.header().cluster() == "test");
}
