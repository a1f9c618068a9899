// A draft actor that serves, dies, stops and comes back: what it knows makes requests faster, and
// nothing that happens to it changes a text.
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

ClusterSetup with_draft() {
  ClusterSetup setup;
  setup.decodes = 2;
  setup.roles_more = "  - {name: guess, run: [draft]}\n";
  return setup;
}

/// Every decode worker has found the draft actor that runs now, `times` in all.
bool is_found(TestCluster& cluster, size_t times) {
  size_t found = 0;
  for (const char* worker : {"decode-1", "decode-2"}) {
    const std::string log =
        read_text(cluster.path() / "run" / "test" / "logs" / (std::string(worker) + ".log"));
    for (size_t at = log.find("drafts come from"); at != std::string::npos;
         at = log.find("drafts come from", at + 1)) {
      ++found;
    }
  }
  return found >= times;
}

/// Text of temperature 1 does not repeat itself: what is accepted was known from before.
actors::GenerateRequest unrepeated(uint64_t seed, uint32_t max_tokens = 600) {
  return request_of(some_tokens(150, seed), max_tokens, 1.0f, seed);
}

TEST_CASE("draft: what one request said is drafted for the next, whichever worker has it") {
  TestCluster cluster(with_draft());
  cluster.up();
  REQUIRE(eventually([&] { return is_found(cluster, 2); }, 20'000));
  Reference reference(cluster.model_path());
  const auto request = unrepeated(3);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  const auto first = RunningRequest(*client, request).result();
  check_same(first, wanted);
  uint32_t accepted = 0;
  for (int i = 0; i < 4; ++i) {
    const auto again = RunningRequest(*client, request).result();
    check_same(again, wanted);
    accepted = std::max(accepted, again.choices[0].accepted);
  }
  MESSAGE("accepted at first ", first.choices[0].accepted, ", later ", accepted, " of 600");
  CHECK(accepted > first.choices[0].accepted + 100);

  auto undrafted = request;
  undrafted.drafts = false;
  const auto plain = RunningRequest(*client, undrafted).result();
  check_same(plain, wanted);
  CHECK(plain.choices[0].drafted == 0);
  CHECK(cluster.wait_idle() == "");
}

TEST_CASE("draft: killed or stopped in mid-stream, the text is the same") {
  TestCluster cluster(with_draft());
  cluster.up();
  REQUIRE(eventually([&] { return is_found(cluster, 2); }, 20'000));
  Reference reference(cluster.model_path());
  std::vector<actors::GenerateRequest> requests;
  std::vector<actors::GenerateResult> wanted;
  for (uint64_t i = 0; i < 3; ++i) {
    requests.push_back(unrepeated(40 + i, 3000));
    wanted.push_back(reference.run(requests.back()));
  }
  auto client = cluster.client();
  // Once to learn, then again while it dies: drafts are in use in that moment.
  for (size_t i = 0; i < requests.size(); ++i) {
    check_same(RunningRequest(*client, requests[i]).result(), wanted[i]);
  }
  const auto run_while = [&](const std::function<void()>& something_happens) {
    std::vector<std::unique_ptr<RunningRequest>> running;
    for (const auto& request : requests) {
      running.push_back(std::make_unique<RunningRequest>(*client, request));
    }
    for (const auto& request : running) REQUIRE(request->wait_tokens(20));
    something_happens();
    for (size_t i = 0; i < running.size(); ++i) {
      CAPTURE(i);
      const auto got = running[i]->result();
      check_same(got, wanted[i]);
      CHECK(got.attempts == 1);
    }
  };
  const pid_t first = cluster.pid("guess");
  run_while([&] { ::kill(first, SIGSTOP); });
  ::kill(first, SIGCONT);
  run_while([&] {
    ::kill(first, SIGSTOP);
    ::poll(nullptr, 0, 50);
    ::kill(first, SIGCONT);
  });
  const uint64_t before = cluster.incarnation("guess");
  run_while([&] { cluster.kill("guess"); });
  CHECK(cluster.is_back("guess", before));
  // The new one knows nothing yet, is found, and learns.
  CHECK(eventually([&] { return is_found(cluster, 4); }, 20'000));
  run_while([] {});
  CHECK(cluster.wait_idle() == "");
}

}  // namespace
}  // namespace troupe::testing
