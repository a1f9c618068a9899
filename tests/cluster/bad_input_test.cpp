// What a user may get wrong at the command line: a sentence, an exit status, one JSON object.
#include <sys/socket.h>

#include "tests/support/cluster_fixture.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

/// Fails with a non-zero exit status and says `words`; nothing on stdout.
void check_refused(TestCluster& cluster, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& words) {
  const Finished finished = cluster.run(arguments, 30'000);
  INFO("arguments: ", Json(arguments).dump(-1, ' ', false, Json::error_handler_t::replace));
  INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.signal == 0);
  CHECK(finished.exit_code > 0);
  CHECK(finished.out.find_first_not_of(" \n") == std::string::npos);
  for (const std::string& word : words) {
    INFO("missing: ", word);
    CHECK(finished.err.find(word) != std::string::npos);
  }
}

/// The same with --json: exactly one object on stdout, with a code and a sentence.
void check_json_error(TestCluster& cluster, std::vector<std::string> arguments,
                      const std::string& code) {
  arguments.emplace_back("--json");
  const Finished finished = cluster.run(arguments, 30'000);
  INFO("arguments: ", Json(arguments).dump(-1, ' ', false, Json::error_handler_t::replace));
  INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
  CHECK(finished.exit_code > 0);
  const Json body = Json::parse(finished.out, nullptr, false);
  REQUIRE(body.is_object());
  REQUIRE(body.contains("error"));
  CHECK(body["error"]["code"] == code);
  CHECK_FALSE(body["error"]["message"].get<std::string>().empty());
}

TEST_CASE("bad input: without a cluster") {
  TestCluster cluster;
  for (const char* command : {"status", "down", "chat"}) {
    check_refused(cluster, {command}, {"no cluster", "troupe up"});
  }
  check_refused(cluster, {"generate", "Hello"}, {"no cluster", "troupe up"});
  check_json_error(cluster, {"status"}, "not_found");
  check_json_error(cluster, {"down"}, "not_found");
  check_json_error(cluster, {"generate", "Hello"}, "not_found");
  check_refused(cluster, {"generate", "Hello", "--max-tokns", "3"},
                {"--max-tokns", "did you mean --max-tokens?"});
  check_json_error(cluster, {"generate", "Hello", "--max-tokns", "3"}, "invalid_argument");
  check_refused(cluster, {"generte", "Hello"}, {"did you mean generate?"});
  check_refused(cluster, {"generate", "Hello", "--temperature", "warm"}, {"--temperature"});
  check_refused(cluster, {"generate"}, {"no prompt"});
  check_refused(cluster, {"generate", ""}, {"no prompt"});
  check_refused(cluster, {"serve", "no-such-file.gguf"}, {"no-such-file.gguf"});
  check_refused(cluster, {"generate", "Hello", "--model", "no-such-file.gguf"},
                {"no-such-file.gguf"});
  check_json_error(cluster, {"generate", "Hello", "--model", "no-such-file.gguf"}, "not_found");
  check_refused(cluster, {"generate", "Hello", "--model", cluster.manifest().string()}, {"GGUF"});
  check_refused(cluster, {"tokenize", cluster.manifest().string(), "--text", "a"},
                {"expected a GGUF file, tokenizer.json"});
  check_refused(cluster, {"tokenize", "m", "--text", "a", "--file", "b"},
                {"--file and --text exclude one another"});
  check_refused(cluster, {"up", "no-such.yaml"}, {"no-such.yaml"});
  check_json_error(cluster, {"up", "no-such.yaml"}, "not_found");
  std::ofstream(cluster.path() / "bad.yaml") << "version: 1\nname: x\nrolse: []\n";
  check_refused(cluster, {"up", (cluster.path() / "bad.yaml").string()},
                {"bad.yaml:3:1", "did you mean \"roles\"?"});
}

TEST_CASE("help: the variables of users stand once, those of tests nowhere") {
  TestCluster cluster;
  const std::string all = cluster.run({"--help"}, 30'000).out;
  CHECK(all.find("TROUPE_LOG: ") != std::string::npos);
  CHECK(all.find("TROUPE_SIM") == std::string::npos);
  const std::string one = cluster.run({"generate", "--help"}, 30'000).out;
  CHECK(one.find("--max-tokens") != std::string::npos);
  CHECK(one.find("TROUPE_") == std::string::npos);
}

TEST_CASE("bad input: a plan says what would keep it from starting here") {
  ClusterSetup setup;
  setup.more = "security: {certificates_path: no-such-folder}\n";
  setup.kv_memory = "9000GiB";
  TestCluster cluster(setup);
  const Json plan = cluster.json({"plan", cluster.manifest().string()});
  REQUIRE(plan["problems"].size() == 2);
  CHECK(plan["problems"][0].get<std::string>().find("kv_memory") != std::string::npos);
  CHECK(plan["problems"][1].get<std::string>().find("no-such-folder") != std::string::npos);

  TestCluster whole;
  CHECK(whole.json({"plan", whole.manifest().string()})["problems"].empty());
  const auto junk = whole.path() / "junk.gguf";
  std::ofstream(junk) << "junk";
  ClusterSetup of_junk;
  of_junk.model_path = junk.string();
  TestCluster broken(of_junk);
  const Finished told = broken.run({"plan", broken.manifest().string()}, 30'000);
  CHECK(told.exit_code == 0);
  CHECK(told.out.find("would not start here: ") != std::string::npos);
  CHECK(told.out.find("a GGUF file begins with \"GGUF\"") != std::string::npos);
}

TEST_CASE("bad input: a port that is in use") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(fd, 1) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  ClusterSetup setup;
  setup.head_extra = ", port: " + port;
  TestCluster cluster(setup);
  check_refused(cluster, {"up", cluster.manifest().string()}, {port, "head"});
  check_json_error(cluster, {"up", cluster.manifest().string()}, "unavailable");
  check_refused(cluster, {"serve", cluster.model_path(), "--port", port}, {port});
  ::close(fd);
}

TEST_CASE("bad input: to a running cluster") {
  TestCluster cluster;
  cluster.up();
  check_refused(cluster, {"up", cluster.manifest().string()}, {"test", "running"});
  check_json_error(cluster, {"up", cluster.manifest().string()}, "failed_precondition");
  const auto refused = [&](const std::vector<std::string>& flags,
                           const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"generate", "Hello"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    check_refused(cluster, arguments, words);
  };
  refused({"--temperature", "-1"}, {"temperature"});
  refused({"--temperature", "nan"}, {"temperature"});
  refused({"--temperature", "inf"}, {"temperature"});
  refused({"--top-p", "0"}, {"--top-p is \"0\"", "above 0, at most 1"});
  refused({"--n", "1000"}, {"--n is \"1000\"", "from 1 to 128"});
  refused({"--threads", "2"}, {"--threads means nothing without --model"});
  refused({"--stop", ""}, {"stop"});
  refused({"--cluster", "other"}, {"other"});
  check_refused(cluster, {"generate", "--token-ids", "1,2,999999"}, {"999999"});
  check_refused(cluster, {"generate", "--token-ids", "1,-2"}, {"-2"});
  check_refused(cluster, {"generate", "--raw", "caf\xe9 \xff"}, {"UTF-8"});
  check_refused(cluster, {"generate", "caf\xe9 \xff"}, {"UTF-8"});
  check_json_error(cluster, {"generate", "Hello", "--temperature", "-1"}, "invalid_argument");
  check_json_error(cluster, {"generate", "caf\xe9 \xff"}, "invalid_argument");

  const auto long_file = cluster.path() / "long.txt";
  std::ofstream(long_file) << std::string(20'000, 'x');
  check_refused(cluster, {"generate", "--raw", "--file", long_file.string()}, {"16384"});
  check_json_error(cluster, {"generate", "--raw", "--file", long_file.string()},
                   "invalid_argument");
  std::ofstream(cluster.path() / "empty.txt").flush();
  check_refused(cluster, {"generate", "--raw", "--file", (cluster.path() / "empty.txt").string()},
                {"empty"});

  auto client = cluster.client();
  auto request = request_of(some_tokens(10, 1), 5);
  request.model = "another-model";
  const auto unknown = client->generate_and_wait(request);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("another-model") != std::string::npos);
  const auto empty = client->generate_and_wait(actors::GenerateRequest{});
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().code == Code::invalid_argument);
  // Whatever was refused holds nothing, and the cluster still answers.
  CHECK(cluster.json({"generate", "Hello", "--max-tokens", "5"})["output_tokens"].get<int>() > 0);
  CHECK(cluster.wait_idle() == "");
}

}  // namespace
}  // namespace troupe::testing
