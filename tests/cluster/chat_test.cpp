// chat: a conversation of several turns, piped in as a user would type it.
#include "tests/support/cluster_request.hpp"
#include "tests/support/folders.hpp"

namespace troupe::testing {
namespace {

const std::vector<std::string> lines = {
    "Tell me of a troupe of actors who travelled along the coast in summer, town after town.",
    "And what did they play?", "Who wrote the cards that the sister read on the stage?"};

std::vector<std::string> chat(const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "chat", "--max-tokens", "20", "--seed", "3", "--temperature", "1", "--system", "Be brief."};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::filesystem::path typed(const TestCluster& cluster, const std::string& more = {}) {
  const auto path = cluster.path() / "typed.txt";
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
  file << more;
  return path;
}

/// The answers of the same conversation, held message by message through the client.
std::string by_hand(actors::Client& client) {
  actors::GenerateRequest request;
  request.sampling.max_tokens = 20;
  request.sampling.temperature = 1;
  request.sampling.seed = 3;
  request.has_seed = true;
  request.messages.push_back({"system", "Be brief."});
  std::string answers;
  for (const std::string& line : lines) {
    request.messages.push_back({"user", line});
    const auto result = client.generate_and_wait(request);
    INFO("by hand: ", result.ok() ? "" : result.error().message());
    REQUIRE(result.ok());
    answers += result->choices[0].text + "\n";
    request.messages.push_back({"assistant", result->choices[0].text});
  }
  return answers;
}

TEST_CASE("chat: a conversation remembers its turns, in a cluster and in one process") {
  TestCluster cluster;
  cluster.up();
  const Finished told = cluster.start(chat({}), typed(cluster))->wait(60'000);
  INFO("stderr: ", told.err);
  CHECK(told.exit_code == 0);
  CHECK(told.err == "");
  const std::string wanted = by_hand(*cluster.client());
  CHECK(told.out == wanted);
  // The later turns begin with the earlier ones, whose blocks are still there; a worker tells its
  // counts a few times a second.
  CHECK(
      eventually([&] { return cluster.worker("decode")["cached_tokens"].get<int>() > 64; }, 5'000));

  const Finished alone =
      cluster.start(chat({"--model", cluster.model_path(), "--threads", "1"}), typed(cluster))
          ->wait(60'000);
  CHECK(alone.exit_code == 0);
  CHECK(alone.out == wanted);
  CHECK(cluster.wait_idle() == "");
}

TEST_CASE("chat: an empty line ends it, a refused message does not") {
  TestCluster cluster;
  cluster.up();
  const auto path = cluster.path() / "typed.txt";
  std::ofstream(path) << "caf\xe9\n"
                      << "Hello\n"
                      << "\n"
                      << "never read\n";
  const Finished told = cluster.start(chat({}), path)->wait(60'000);
  INFO("stdout: ", told.out);
  CHECK(told.exit_code == 0);
  CHECK(told.err.find("UTF-8") != std::string::npos);
  std::ofstream(path) << "Hello\n";
  const Finished only = cluster.start(chat({}), path)->wait(60'000);
  CHECK(told.out == "\n" + only.out);
  CHECK(only.out.size() > 2);
}

TEST_CASE("chat: Ctrl-C in a pipe ends the conversation and the work") {
  TestCluster cluster;
  cluster.up();
  const auto path = typed(cluster);
  const auto talking = cluster.start({"chat", "--max-tokens", "15000", "--ignore-eos"}, path);
  REQUIRE(eventually([&] { return talking->out().size() > 200; }, 20'000));
  talking->send(SIGINT);
  CHECK(talking->wait(5'000).exit_code == 130);
  CHECK(cluster.wait_idle(2'500) == "");
}

TEST_CASE("chat, generate: a terminal that closes, a reader that goes away end the work at once") {
  TestCluster cluster;
  cluster.up();
  for (const char* command : {"generate", "chat"}) {
    CAPTURE(command);
    const std::vector<std::string> asks = {command, "--max-tokens", "15000", "--ignore-eos"};
    std::vector<std::string> words = asks;
    if (std::string(command) == "generate") words.emplace_back("Hello");
    const auto hung_up = cluster.start(words, typed(cluster));
    REQUIRE(eventually([&] { return hung_up->out().size() > 200; }, 20'000));
    hung_up->send(SIGHUP);
    CHECK(hung_up->wait(5'000).exit_code == 130);
    CHECK(cluster.wait_idle(2'500) == "");

    std::string line = (std::filesystem::path(binary_folder()) / "troupe").string();
    for (const std::string& word : words) line += " " + word;
    const std::string path = typed(cluster).string();
    const TimeUs before = now_us();
    Program unread({"/bin/sh", "-c", "{ " + line + " <" + path + "; echo $? >&2; } >/dev/full"},
                   {{"TROUPE_RUN_DIR", (cluster.path() / "run").string()}},
                   cluster.path() / "unread.out");
    const Finished told = unread.wait(20'000);
    CHECK(now_us() - before < 4'000'000);
    CHECK(told.err == "troupe: standard output could not be written\n1\n");
    CHECK(cluster.wait_idle(2'500) == "");
  }
  const Finished noisy = cluster.run({"status", "--json"});
  CHECK(Json::accept(noisy.out));
}

TEST_CASE("chat, generate: a cluster that is stopped ends them within a second or so") {
  TestCluster cluster;
  cluster.up();
  const auto talking =
      cluster.start({"chat", "--max-tokens", "15000", "--ignore-eos"}, typed(cluster));
  const auto asking =
      cluster.start({"generate", "Hello", "--max-tokens", "15000", "--ignore-eos", "--json"});
  REQUIRE(eventually([&] { return talking->out().size() > 200; }, 20'000));
  SUBCASE("down") {
    cluster.stop();
  }
  SUBCASE("kill -9 of the supervisor") {
    REQUIRE(cluster.supervisor() > 1);
    REQUIRE(::kill(cluster.supervisor(), SIGKILL) == 0);
  }
  const TimeUs before = now_us();
  const Finished told = talking->wait(5'000);
  CHECK(told.exit_code == 1);
  CHECK(told.err.find("troupe: ") != std::string::npos);
  CHECK(told.err.find("cluster test") != std::string::npos);
  const Finished asked = asking->wait(5'000);
  CHECK(asked.exit_code == 1);
  const Json body = Json::parse(asked.out, nullptr, false);
  REQUIRE(body.is_object());
  CHECK(body["error"]["code"] == "unavailable");
  CHECK(now_us() - before < 2'000'000);
}

}  // namespace
}  // namespace troupe::testing
