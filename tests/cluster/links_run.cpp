#include "tests/support/links_run.hpp"

#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

constexpr size_t num_streams = 12, num_new = 4;
/// Each request ends so long after the fault did, whatever becomes of it.
constexpr int64_t end_timeout_ms = 60'000;

actors::GenerateRequest request_number(size_t i) {
  return request_of(some_tokens(700 + 130 * (i % 4), 4000 + i), 1500, i % 3 == 0 ? 0.0f : 1.0f, i);
}

void harm(TwoHosts& hosts, LinkHarm harm) {
  switch (harm) {
    case LinkHarm::cut:
      hosts.silence(1);
      hosts.silence(2);
      break;
    case LinkHarm::one_is_not_heard:
      hosts.silence(1);
      break;
    case LinkHarm::two_is_not_heard:
      hosts.silence(2);
      break;
    case LinkHarm::slow:
      hosts.slow_down("8mbit");
      break;
    case LinkHarm::stalled:
      hosts.slow_down("1kbit");
      break;
  }
}

}  // namespace

std::string LinkRow::line() const {
  return concat(what, ": ", same, " right, ", moved, " of them moved, ", failed,
                " ended with an error", failed == 0 ? "" : " (" + errors + ")", ", ", changed,
                " changed, the last ", last_ms, " ms after the link was whole",
                left.empty() ? "" : ", NOT IDLE: " + left);
}

LinkRow run_link_fault(TwoHosts& hosts, Reference& reference, const LinkFault& fault) {
  std::vector<actors::GenerateResult> wanted;
  for (size_t i = 0; i < num_streams + num_new; ++i) {
    wanted.push_back(reference.run(request_number(i)));
  }
  std::unique_ptr<actors::Client> clients[] = {hosts.client(1), hosts.client(2)};
  std::vector<std::unique_ptr<RunningRequest>> running;
  const auto ask = [&] {
    const size_t i = running.size();
    running.push_back(std::make_unique<RunningRequest>(*clients[i % 2], request_number(i)));
  };
  // Half of them have begun when the link goes, for the others blocks are on their way.
  while (running.size() < num_streams / 2) ask();
  for (const auto& one : running) REQUIRE(one->wait_tokens(5));
  while (running.size() < num_streams) ask();
  harm(hosts, fault.harm);
  while (running.size() < num_streams + num_new) ask();
  ::poll(nullptr, 0, fault.duration_ms);
  hosts.heal();

  const TimeUs healed = now_us();
  LinkRow row;
  row.what = fault.what;
  for (size_t i = 0; i < running.size(); ++i) {
    const auto ended = running[i]->end(end_timeout_ms);
    if (!ended.ok()) {
      row.failed += 1;
      row.failed_late += running[i]->tokens() > 0 ? 1 : 0;
      const std::string code = name(ended.error().code);
      if (row.errors.find(code) == std::string::npos)
        row.errors += (row.failed > 1 ? " " : "") + code;
      continue;
    }
    const bool is_same = same_bits(ended->choices.at(0), wanted[i].choices.at(0));
    row.same += is_same ? 1 : 0;
    row.changed += is_same ? 0 : 1;
    row.moved += ended->attempts > 1 ? 1 : 0;
  }
  row.last_ms = (now_us() - healed) / 1000;
  row.left = hosts.wait_idle(3, 40'000);
  return row;
}

}  // namespace troupe::testing
