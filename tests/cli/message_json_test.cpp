// Messages as lines of JSON: what was written is read again, and nothing else is read.
#include "cli/message_json.hpp"

#include <doctest/doctest.h>
#include <google/protobuf/util/message_differencer.h>

#include <random>
#include <string>
#include <vector>

#include "schemas/recording.pb.h"

using namespace troupe;
using namespace troupe::cli;
using google::protobuf::util::MessageDifferencer;

namespace {

v1::RecordedEvent random_event(std::mt19937_64& random) {
  v1::RecordedEvent event;
  event.set_wall_us(static_cast<int64_t>(random() >> 2));
  event.set_node("prefill-1");
  v1::MetricsUpdate& update = *event.mutable_update();
  update.set_incarnation(random());
  update.set_number(random() % 100);
  update.set_last(random());
  update.set_at_us(-5);
  for (int i = 1; i < v1::Metric_ARRAYSIZE; ++i) {
    v1::MetricValue* value = update.add_values();
    value->set_metric(static_cast<v1::Metric>(i));
    value->set_value(random() >> (random() % 64));
  }
  v1::DistributionState* spread = update.add_distributions();
  spread->set_distribution(v1::DISTRIBUTION_ITL);
  for (uint32_t bucket = 0; bucket < 20; ++bucket) {
    spread->add_bucket(bucket);
    spread->add_count(random() >> 3);
  }
  v1::RequestTimeline* told = update.add_requests();
  told->set_request_id(random());
  told->set_finish("stop \"quoted\" \\ \n \xC3\xA9");
  v1::StageTime* stage = told->add_stages();
  stage->set_stage(v1::STAGE_PLACED);
  stage->set_at_us(static_cast<int64_t>(random() >> 1));
  return event;
}

std::string refusal(const std::string& line) {
  v1::RecordedEvent event;
  const Status status = from_json_line(line, event);
  if (status.ok()) return {};
  CHECK(status.error().code == Code::invalid_argument);
  return status.error().message();
}

void check_refused(const std::string& line, const std::string& part) {
  const std::string said = refusal(line);
  CHECK_MESSAGE(said.find(part) != std::string::npos, line.substr(0, 80), " gave: ", said);
}

}  // namespace

TEST_CASE("what was written is read again") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const v1::RecordedEvent event = random_event(random);
    const std::string line = to_json_line(event);
    CHECK(line.find('\n') == std::string::npos);
    v1::RecordedEvent again;
    const Status status = from_json_line(line, again);
    REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message()));
    CHECK(MessageDifferencer::Equals(event, again));
    CHECK(to_json_line(again) == line);
  }
}

TEST_CASE("bytes and identities are hexadecimal") {
  v1::RecordedEvent event;
  event.mutable_update()->set_incarnation(0xabcd);
  v1::NodeInfo* node = event.mutable_members()->add_nodes();
  node->set_kv_fingerprint(std::string("\0\xFF", 2));
  const std::string line = to_json_line(event);
  CHECK(line.find(R"("incarnation":"000000000000abcd")") != std::string::npos);
  CHECK(line.find(R"("kv_fingerprint":"00ff")") != std::string::npos);
}

TEST_CASE("what is wrong is said with its place") {
  check_refused("", "valid JSON");
  check_refused("{", "valid JSON");
  check_refused("{} {}", "valid JSON");
  check_refused("[]", "the line is not a JSON object");
  check_refused("{\"wall_us\":1e3}", "wall_us is not a whole number");
  check_refused("{\"wall_us\":9223372036854775808}", "wall_us is not a whole number");
  check_refused("{\"wall_us\":\"1\"}", "wall_us is not");
  check_refused("{\"wall_uss\":1}", "did you mean \"wall_us\"?");
  check_refused("{\"wall_us\":1,\"wall_us\":2}", "twice");
  check_refused("{\"update\":{\"number\":1,\"number\":1}}", "twice");
  check_refused("{\"node\":null}", "node is not a text");
  check_refused("{\"node\":\"\xFF\"}", "valid JSON");
  check_refused("{\"update\":[]}", "update is not a JSON object");
  check_refused("{\"update\":{\"number\":-1}}", "update.number is not");
  check_refused("{\"update\":{\"values\":{}}}", "update.values is not a JSON array");
  check_refused(
      "{\"update\":{\"values\":[{},{\"metric\":\"METRIC_STEP\"}]}}",
      "update.values[1].metric is not the name of a Metric, did you mean \"METRIC_STEPS\"");
  check_refused("{\"update\":{\"values\":[{\"metric\":15}]}}", "update.values[0].metric");
  check_refused("{\"update\":{\"incarnation\":\"12\"}}", "16 hexadecimal digits");
  check_refused("{\"update\":{\"incarnation\":\"00000000000000AB\"}}", "16 hexadecimal digits");
  check_refused("{\"update\":{\"distributions\":[{\"bucket\":[4294967296]}]}}",
                "update.distributions[0].bucket[0]");
  check_refused("{\"members\":{\"nodes\":[{\"kv_fingerprint\":\"0\"}]}}", "hexadecimal");
  check_refused("{\"members\":{\"nodes\":[{\"kv_fingerprint\":\"zz\"}]}}", "hexadecimal");
}

TEST_CASE("nesting and length are no way to break the reader") {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  check_refused(deep, "the line is not a JSON object");
  check_refused("{\"wall_uss\":" + deep + "}", "has a field");
  check_refused(std::string(limits::json_line_bytes_max + 1, ' '), "bytes");
}

TEST_CASE("a damaged line is read as something else or refused, never more") {
  std::mt19937_64 random(2);
  const std::string line = to_json_line(random_event(random));
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = line;
    for (uint64_t k = 0; k <= random() % 3; ++k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    v1::RecordedEvent event;
    if (!from_json_line(damaged, event).ok()) ++refused;
  }
  CHECK(refused > 2500);
}
