// The parts of tests/support/cluster_fixture.hpp that talk to processes.
#include <sys/socket.h>

#include <algorithm>
#include <bit>

#include "actors/node.hpp"
#include "launch/cluster_state.hpp"
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

std::string binary() {
  return binary_folder() + "/troupe";
}

std::string manifest_text(const ClusterSetup& setup, const std::string& model_path) {
  const std::string memory = ", kv_memory: " + setup.kv_memory + "}\n";
  std::string text =
      "version: 1\nname: test\nmodels: [{name: m, path: " + model_path + "}]\nroles:\n";
  if (setup.apart) {
    for (const std::string role : {"directory", "router", "front"}) {
      text += "  - {name: " + role + ", run: [" + role + "]}\n";
    }
  } else {
    text += "  - {name: head, run: [directory, router, front]" + setup.head_extra + "}\n";
  }
  if (setup.prefill) text += "  - {name: prefill, run: [prefill]" + memory;
  for (int i = 1; i <= setup.decodes; ++i) {
    const std::string name = setup.decodes == 1 ? "decode" : "decode-" + std::to_string(i);
    text += "  - {name: " + name + ", run: [decode]" + memory;
  }
  return text + setup.roles_more + setup.more + "\n";
}

bool is_listening(uint16_t port) {
  const sockaddr_in address = loopback(port);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

}  // namespace

TestCluster::TestCluster(ClusterSetup setup) : setup_(std::move(setup)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "troupe-cluster-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
  model_path_ = setup_.model_path;
  if (model_path_.empty()) {
    model_path_ = (path_ / "tiny.gguf").string();
    make_tiny_llama(model_path_, cluster_model());
  }
  std::ofstream(manifest()) << manifest_text(setup_, model_path_);
}

TestCluster::~TestCluster() {
  if (is_up_) down();
  check_nothing_left();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::unique_ptr<Program> TestCluster::start(const std::vector<std::string>& arguments,
                                            const std::filesystem::path& input) {
  std::vector<std::string> words = {binary()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Program::Environment environment = setup_.environment;
  environment.emplace_back("TROUPE_RUN_DIR", (path_ / "run").string());
  return std::make_unique<Program>(words, environment, path_ / ("out-" + std::to_string(++runs_)),
                                   input);
}

Finished TestCluster::run(const std::vector<std::string>& arguments, int64_t timeout_ms) {
  return start(arguments)->wait(timeout_ms);
}

Json TestCluster::json(std::vector<std::string> arguments, int expected_exit) {
  arguments.emplace_back("--json");
  const Finished finished = run(arguments);
  INFO("arguments: ", Json(arguments).dump(-1, ' ', false, Json::error_handler_t::replace));
  INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
  CHECK(finished.exit_code == expected_exit);
  Json body = Json::parse(finished.out, nullptr, false);
  REQUIRE(body.is_object());
  return body;
}

void TestCluster::up() {
  const Finished finished = run({"up", manifest().string()});
  INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
  REQUIRE(finished.exit_code == 0);
  is_up_ = true;
  note_shared_memory();
}

void TestCluster::down() {
  stop();
  check_nothing_left();
}

void TestCluster::stop() {
  note_shared_memory();
  is_up_ = false;
  const Finished finished = run({"down"});
  INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
  CHECK(finished.exit_code == 0);
  CHECK(finished.out.find("had to be killed") == std::string::npos);
}

Json TestCluster::state() const {
  return Json::parse(read_text(path_ / "run" / "test" / "cluster.json"), nullptr, false);
}

Json TestCluster::status() {
  return json({"status"});
}

std::unique_ptr<actors::Client> TestCluster::client() {
  return client_of(path_ / "run" / "test" / "cluster.json");
}

std::unique_ptr<actors::Client> client_of(const std::filesystem::path& cluster_state) {
  const auto state = launch::parse_cluster_state(read_text(cluster_state));
  REQUIRE(state.ok());
  const auto files = launch::certificate_files(state->certificates, "client");
  actors::ClientOptions options;
  options.cluster = state->name;
  options.directory_host = state->directory_host;
  options.directory_port = state->directory_port;
  options.tls = {files.certificate, files.key, files.authority};
  auto client = actors::Client::connect(options);
  INFO("connect: ", client.ok() ? "" : client.error().message());
  REQUIRE(client.ok());
  return std::move(client).value();
}

namespace {

Json process_of(const Json& state, const std::string& name) {
  if (!state.is_object()) return Json::object();
  for (const Json& process : state.value("processes", Json::array())) {
    if (process.value("name", "") == name) return process;
  }
  return Json::object();
}

}  // namespace

pid_t TestCluster::pid(const std::string& process) {
  const Json found = process_of(state(), process);
  REQUIRE(found.contains("pid"));
  return found["pid"].get<pid_t>();
}

uint16_t TestCluster::port(const std::string& process) {
  const Json found = process_of(state(), process);
  REQUIRE(found.contains("port"));
  return found["port"].get<uint16_t>();
}

uint64_t TestCluster::incarnation(const std::string& process) {
  const Json found = process_of(state(), process);
  return found.value("incarnation", uint64_t{0});
}

void TestCluster::kill(const std::string& process) {
  const pid_t victim = pid(process);
  REQUIRE(victim > 1);
  REQUIRE(::kill(victim, SIGKILL) == 0);
}

bool TestCluster::is_back(const std::string& process, uint64_t after, int64_t timeout_ms) {
  const bool back = eventually(
      [&] {
        const Json found = process_of(state(), process);
        return found.value("incarnation", uint64_t{0}) > after &&
               found.value("health", "") == "ready";
      },
      timeout_ms);
  if (back) note_shared_memory();
  return back;
}

Json TestCluster::worker(const std::string& name) {
  const Json now = status();
  for (const Json& worker : now["workers"]) {
    if (worker["name"] == name) return worker;
  }
  return Json::object();
}

bool is_idle(const Json& status, size_t workers) {
  if (!status.is_object() || status["workers"].size() != workers) return false;
  if (status["bookings"] != 0) return false;
  for (const Json& w : status["workers"]) {
    if (w["running"] != 0 || w["waiting"] != 0 || w["sessions"] != 0) return false;
    if (w["blocks_total"] == 0 || w["blocks_free"] != w["blocks_total"]) return false;
  }
  return true;
}

std::string TestCluster::wait_idle(int64_t timeout_ms) {
  const size_t expected = static_cast<size_t>(setup_.decodes) + (setup_.prefill ? 1 : 0);
  std::string last;
  const bool idle = eventually(
      [&] {
        const Finished finished = run({"status", "--json"});
        last = finished.out;
        return is_idle(Json::parse(finished.out, nullptr, false), expected);
      },
      timeout_ms);
  return idle ? std::string() : last + warnings();
}

std::string TestCluster::warnings() const {
  std::string found;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(path_ / "run" / "test" / "logs", ignored)) {
    std::ifstream log(entry.path());
    for (std::string line; std::getline(log, line);) {
      if (line.find(" info ") != std::string::npos) continue;
      found += entry.path().filename().string() + ": " + line + "\n";
    }
  }
  return found;
}

std::vector<pid_t> TestCluster::processes() const {
  std::vector<pid_t> found;
  const std::string mark = "TROUPE_RUN_DIR=" + (path_ / "run").string();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    if (read_text(entry.path() / "environ").find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

void TestCluster::note_shared_memory() {
  for (const pid_t pid : processes()) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      const size_t at = line.find("/dev/shm/");
      if (at == std::string::npos) continue;
      shared_memory_.insert(line.substr(at, line.find(' ', at) - at));
    }
  }
  const Json known = state();
  if (!known.is_object()) return;
  for (const Json& process : known.value("processes", Json::array())) {
    if (const auto port = process.value("port", uint16_t{0})) ports_.insert(port);
  }
}

void TestCluster::check_nothing_left() {
  CHECK(eventually([&] { return processes().empty(); }, 2'000));
  for (const std::string& name : shared_memory_) {
    INFO("shared memory: ", name);
    CHECK_FALSE(std::filesystem::exists(name));
  }
  for (const uint16_t port : ports_) {
    INFO("port: ", port);
    CHECK_FALSE(is_listening(port));
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ / "run", ignored)) {
    INFO("left: ", entry.path().string());
    const bool may_stay = entry.is_directory() || entry.path().filename() == "lock" ||
                          entry.path().filename() == "salt-secret" ||
                          entry.path().parent_path().filename() == "logs";
    CHECK(may_stay);
  }
}

std::vector<int32_t> some_tokens(size_t count, uint64_t seed) {
  std::vector<int32_t> tokens(count);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int32_t& token : tokens) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    token = static_cast<int32_t>(state % 256);
  }
  return tokens;
}

actors::GenerateRequest request_of(std::vector<int32_t> tokens, uint32_t max_tokens,
                                   float temperature, uint64_t seed) {
  actors::GenerateRequest request;
  request.token_ids = std::move(tokens);
  request.sampling.max_tokens = max_tokens;
  request.sampling.temperature = temperature;
  request.sampling.ignore_eos = true;
  request.sampling.seed = seed;
  request.has_seed = true;
  return request;
}

actors::GenerateRequest mixed_request(size_t i, size_t own_tokens) {
  std::vector<int32_t> tokens = some_tokens(i % 3 == 0 ? 192 : 20, i % 3 == 0 ? 1 : 100 + i);
  const std::vector<int32_t> own = some_tokens(10 + own_tokens * i, 1000 + i);
  tokens.insert(tokens.end(), own.begin(), own.end());
  return request_of(std::move(tokens), 40 + static_cast<uint32_t>(17 * i % 120),
                    i % 4 == 0 ? 0.0f : 1.0f, 50 + i);
}

bool same_bits(const actors::ChoiceResult& got, const actors::ChoiceResult& wanted) {
  const auto is_equal = [](float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  };
  return got.token_ids == wanted.token_ids && got.text == wanted.text &&
         got.finish_reason == wanted.finish_reason &&
         std::ranges::equal(got.logprobs, wanted.logprobs, is_equal);
}

void check_same(const actors::ChoiceResult& got, const actors::ChoiceResult& wanted) {
  CHECK(got.token_ids == wanted.token_ids);
  REQUIRE(got.logprobs.size() == wanted.logprobs.size());
  size_t different = 0;
  for (size_t i = 0; i < got.logprobs.size(); ++i) {
    different +=
        std::bit_cast<uint32_t>(got.logprobs[i]) != std::bit_cast<uint32_t>(wanted.logprobs[i]);
  }
  CHECK(different == 0);
  CHECK(got.text == wanted.text);
  CHECK(got.finish_reason == wanted.finish_reason);
}

void check_same(const actors::GenerateResult& got, const actors::GenerateResult& wanted) {
  REQUIRE(got.choices.size() == wanted.choices.size());
  for (size_t i = 0; i < got.choices.size(); ++i) check_same(got.choices[i], wanted.choices[i]);
}

struct Reference::Impl {
  std::unique_ptr<actors::Node> node;
  std::unique_ptr<actors::Client> client;
};

Reference::Reference(const std::string& model_path) : impl_(std::make_unique<Impl>()) {
  actors::NodeOptions options;
  options.roles = {"directory", "router", "front", "prefill", "decode"};
  options.model_path = model_path;
  options.worker.kv_bytes = 64u << 20;
  options.worker.threads = 1;
  auto node = actors::Node::start(options);
  REQUIRE(node.ok());
  impl_->node = std::move(node).value();
  REQUIRE(impl_->node->wait_joined(20'000).ok());
  auto client = actors::Client::embedded(*impl_->node);
  REQUIRE(client.ok());
  impl_->client = std::move(client).value();
}

Reference::~Reference() = default;

actors::GenerateResult Reference::run(actors::GenerateRequest request) {
  auto result = impl_->client->generate_and_wait(std::move(request));
  INFO("reference: ", result.ok() ? "" : result.error().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

}  // namespace troupe::testing
