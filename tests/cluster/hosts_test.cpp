// A cluster over two hosts: network namespaces with a cable between them, UCX over TCP.
#include <cstdio>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "launch/node.hpp"
#include "tests/support/two_hosts.hpp"

namespace troupe::testing {
namespace {

std::string health_of(const Json& status, const std::string& host) {
  for (const Json& entry : status["hosts"]) {
    if (entry["name"] == host) return entry["health"];
  }
  return "not listed";
}

/// What the kernel writes for an IPv4 address: its bytes in memory order, as one number.
std::string in_kernel_form(const std::string& address) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  std::sscanf(address.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d);
  char text[9];
  std::snprintf(text, sizeof text, "%02X%02X%02X%02X", d, c, b, a);
  return text;
}

const std::string sentences =
    "Tell me about a bear who lived in a forest and wanted to find the best honey of the land, and "
    "walked day after day across hills, rivers and valleys to find it. Say what he met on his way, "
    "how it ended for him and what his friends in the forest said when he came home in the "
    "autumn. ";

/// So long that another worker's help pays, whatever the speeds that were measured at the start.
const std::string prompt = concat(sentences, sentences, sentences, sentences, sentences, sentences);

void check_answers(TwoHosts& hosts) {
  const std::vector<std::string> asked = {"generate", prompt, "--max-tokens",  "24",
                                          "--seed",   "11",   "--temperature", "1"};
  std::vector<std::string> explained = asked;
  explained.emplace_back("--explain");
  const Json got = hosts.json(2, explained);
  INFO(got["explanation"].get<std::string>());
  CHECK(got["transport"] == "tcp");
  CHECK(got["blocks_moved"].get<int>() > 0);
  CHECK(got["prefill_worker"] == "prefill");
  std::vector<std::string> embedded = asked;
  embedded.insert(embedded.end(), {"--model", hosts.file("tiny.gguf")});
  const Json alone = hosts.json(1, embedded);
  for (const char* field : {"text", "token_ids", "logprobs"}) {
    CHECK(got[field].dump() == alone[field].dump());
  }
}

/// A second host whose certificates are another authority's.
void check_foreign_host(TwoHosts& hosts) {
  hosts.must(2, {"certs", "init", hosts.file("foreign"), "test"});
  hosts.write_manifest("foreign.yaml", {}, "foreign");
  const std::string manifest = hosts.file("foreign.yaml");
  hosts.must(2, {"certs", "issue", hosts.file("foreign"), "--manifest", manifest});
  const TimeUs before = now_us();
  const Finished refused = hosts.run(2, {"up", manifest, "--host", "two"});
  INFO("refused: ", refused.err);
  CHECK(refused.exit_code != 0);
  CHECK(now_us() - before < 15'000'000);  // start_timeout is 20 s
  CHECK(refused.err.find("is not accepted here") != std::string::npos);
  CHECK(refused.err.find("troupe certs") != std::string::npos);
}

void check_guest(TwoHosts& hosts) {
  const auto join = [&](const std::string& certificates) {
    return hosts.troupe(
        2, {"node", "--join", head_address, "--name", "guest", "--certs", hosts.file(certificates),
            "--role", "decode", "--model", hosts.file("tiny.gguf"), "--kv-memory", "32MiB",
            "--address", address_two, "--no-shared-memory", "--threads", "1"});
  };
  const auto is_there = [&] {
    const Json status = hosts.json(1, {"status"});
    return status["joined"].size() == 1 && status["joined"][0]["name"] == "guest" &&
           status["workers"].size() == 3;
  };
  {
    INFO("a certificate of another authority opens nothing");
    hosts.must(1, {"certs", "init", hosts.file("rogue"), "test"});
    hosts.must(1, {"certs", "issue", hosts.file("rogue"), "guest"});
    const TimeUs before = now_us();
    const Finished rogue = join("rogue")->wait(20'000);
    INFO("rogue: ", rogue.err);
    CHECK(rogue.exit_code == launch::refused_exit);
    CHECK(now_us() - before < 10'000'000);
    CHECK(rogue.err.find("is not accepted here") != std::string::npos);
    CHECK(rogue.err.find(head_address) != std::string::npos);
    CHECK_FALSE(is_there());
  }
  hosts.must(1, {"certs", "issue", hosts.file("certs"), "guest"});
  const auto guest = join("certs");
  const bool joined = eventually(is_there, 20'000);
  INFO("guest: ", guest->err());
  CHECK(joined);
  CHECK(hosts.listeners(2) == std::set<std::string>{in_kernel_form(address_two)});
  guest->send(SIGTERM);
  CHECK(guest->wait(10'000).exit_code == 0);
  CHECK(eventually([&] { return hosts.json(1, {"status"})["joined"].empty(); }, 10'000));
}

TEST_CASE("hosts: a cluster over two hosts, what is missing, who may join") {
  TwoHosts hosts;
  if (!hosts.works()) {
    MESSAGE("SKIPPED: no network namespaces here: " << hosts.why_not());
    return;
  }
  const std::string manifest = hosts.file("manifest.yaml");
  hosts.must(1, {"certs", "init", hosts.file("certs"), "test"});
  hosts.must(1, {"certs", "issue", hosts.file("certs"), "--manifest", manifest});
  CHECK(hosts.run(1, {"up", manifest}).err.find("expected --host with one or two") !=
        std::string::npos);
  CHECK(hosts.run(1, {"up", manifest, "--host", "two"}).err.find("address of this machine") !=
        std::string::npos);

  hosts.must(1, {"up", manifest, "--host", "one"});
  const Json alone = hosts.json(1, {"status"});
  CHECK(health_of(alone, "one") == "ready");
  CHECK(health_of(alone, "two") == "missing");
  CHECK(hosts.must(1, {"status"}).out.find("missing: no decode") != std::string::npos);

  hosts.write_manifest("other.yaml", "# not the same\n");
  const Finished refused = hosts.run(2, {"up", hosts.file("other.yaml"), "--host", "two"});
  INFO("refused: ", refused.err);
  CHECK(refused.exit_code != 0);
  CHECK(refused.err.find("was started from another manifest: its digest is ") != std::string::npos);
  CHECK(refused.err.find(concat("the cluster's is ",
                                hosts.json(1, {"status"})["manifest_digest"].get<std::string>())) !=
        std::string::npos);

  check_foreign_host(hosts);
  hosts.must(2, {"up", manifest, "--host", "two"});
  for (int host : {1, 2}) {
    const Json status = hosts.json(host, {"status"});
    CHECK(health_of(status, "one") == "ready");
    CHECK(health_of(status, "two") == "ready");
    CHECK(status["workers"].size() == 2);
  }
  CHECK(hosts.listeners(1) == std::set<std::string>{in_kernel_form(address_one)});
  CHECK(hosts.listeners(2) == std::set<std::string>{in_kernel_form(address_two)});
  check_answers(hosts);
  check_guest(hosts);

  hosts.must(2, {"down"});
  CHECK(
      eventually([&] { return health_of(hosts.json(1, {"status"}), "two") == "missing"; }, 10'000));
  hosts.must(1, {"down"});
  CHECK(hosts.listeners(1).empty());
  CHECK(hosts.listeners(2).empty());
}

}  // namespace
}  // namespace troupe::testing
