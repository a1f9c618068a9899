// A cluster over two hosts: network namespaces with a cable between them, which tests may cut.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include <set>
#include <sstream>

#include "base/concat.hpp"
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/folders.hpp"

namespace troupe::testing {

inline const std::string address_one = "10.231.7.1";
inline const std::string address_two = "10.231.7.2";
inline constexpr const char* head_address = "10.231.7.1:7000";

/// Two network namespaces, one and two, that see each other and nothing else.
class TwoHosts {
 public:
  /// `roles_more`: further entries of roles.
  explicit TwoHosts(std::string roles_more = {})
      : roles_more_(std::move(roles_more)),
        one_(concat("troupe-", ::getpid(), "-1")),
        two_(concat("troupe-", ::getpid(), "-2")) {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-hosts-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    works_ = ip({"netns", "add", one_}) && ip({"netns", "add", two_}) &&
             ip({"link", "add", "troupe0", "netns", one_, "type", "veth", "peer", "name", "troupe0",
                 "netns", two_}) &&
             join(one_, address_one) && join(two_, address_two) && is_running(one_) &&
             is_running(two_);
    make_tiny_llama((path_ / "tiny.gguf").string(), cluster_model());
    write_manifest("manifest.yaml");
  }
  ~TwoHosts() {
    // A failed test leaves clusters behind; a good one left none, and then there is nothing to
    // stop.
    for (int host : {1, 2}) {
      if (works_) run(host, {"down"});
    }
    for (const std::string& host : {one_, two_}) ip({"netns", "del", host});
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  [[nodiscard]] bool works() const { return works_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

  /// One decode worker, on the other host than the head; `more`: further top-level fields.
  void write_manifest(const std::string& name, const std::string& more = {},
                      const std::string& certificates = "certs") const {
    std::ofstream(path_ / name)
        << "version: 1\nname: test\nmodels: [{name: m, path: " << file("tiny.gguf") << "}]\n"
        << "hosts:\n  - {name: one, address: " << address_one
        << "}\n  - {name: two, address: " << address_two << "}\nroles:\n"
        << "  - {name: head, host: one, run: [directory, router, front], port: 7000}\n"
        << "  - {name: prefill, host: one, run: [prefill], kv_memory: 32MiB}\n"
        << "  - {name: decode, host: two, run: [decode], kv_memory: 32MiB}\n"
        << roles_more_ << "transport: {shared_memory: false}\nlimits: {start_timeout: 20s}\n"
        << "security: {certificates_path: " << file(certificates) << "}\n"
        << more;
  }

  /// A program in the network of host 1 or 2, with a run directory of its own.
  std::unique_ptr<Program> start(int host, std::vector<std::string> words) {
    const std::string run = file(concat("run-", host));
    words.insert(words.begin(), {"/usr/bin/env", "ip", "netns", "exec", name_of(host)});
    return std::make_unique<Program>(words, Program::Environment{{"TROUPE_RUN_DIR", run}},
                                     path_ / concat("out-", ++runs_));
  }
  std::unique_ptr<Program> troupe(int host, std::vector<std::string> words) {
    words.insert(words.begin(), binary_folder() + "/troupe");
    return start(host, std::move(words));
  }
  Finished run(int host, const std::vector<std::string>& words) {
    return troupe(host, words)->wait(90'000);
  }
  Finished must(int host, const std::vector<std::string>& words) {
    const Finished finished = run(host, words);
    INFO("arguments: ", Json(words).dump());
    INFO("stdout: ", finished.out, "\nstderr: ", finished.err);
    REQUIRE(finished.exit_code == 0);
    return finished;
  }
  Json json(int host, std::vector<std::string> words) {
    words.emplace_back("--json");
    return Json::parse(must(host, words).out);
  }
  /// Makes certificates and starts both hosts.
  void up() {
    must(1, {"certs", "init", file("certs"), "test"});
    must(1, {"certs", "issue", file("certs"), "--manifest", file("manifest.yaml")});
    must(1, {"up", file("manifest.yaml"), "--host", "one"});
    must(2, {"up", file("manifest.yaml"), "--host", "two"});
  }
  void down() {
    must(2, {"down"});
    must(1, {"down"});
  }

  /// What a host sends is lost from now on, without a word to it: it goes to an address that the
  /// other end does not have. What it hears still comes.
  void silence(int host) {
    const std::string& other = host == 1 ? address_two : address_one;
    REQUIRE(ip({"-n", name_of(host), "neigh", "replace", other, "lladdr", "02:00:00:00:00:99",
                "dev", "troupe0", "nud", "permanent"}));
  }
  /// Both directions carry so much from now on; what is more waits or is dropped.
  void slow_down(const std::string& rate) {
    for (int host : {1, 2}) {
      const std::vector<std::string> words = {"tc",    "qdisc",   "replace", "dev", "troupe0",
                                              "root",  "tbf",     "rate",    rate,  "burst",
                                              "16000", "latency", "500ms"};
      REQUIRE(start(host, words)->wait(5'000).exit_code == 0);
    }
  }
  void heal() {
    for (int host : {1, 2}) {
      const std::string& other = host == 1 ? address_two : address_one;
      run_tool(
          {"/usr/bin/env", "ip", "-n", name_of(host), "neigh", "del", other, "dev", "troupe0"});
      start(host, {"tc", "qdisc", "del", "dev", "troupe0", "root"})->wait(5'000);
    }
  }

  /// A client whose connections begin on that host.
  std::unique_ptr<actors::Client> client(int host) {
    const int own = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = ::open(("/run/netns/" + name_of(host)).c_str(), O_RDONLY | O_CLOEXEC);
    // The client's threads are started by this one and stay in the network in which they began.
    std::unique_ptr<actors::Client> client;
    if (::setns(there, CLONE_NEWNET) == 0) {
      client = client_of(path_ / concat("run-", host) / "test" / "cluster.json");
      REQUIRE(::setns(own, CLONE_NEWNET) == 0);
    }
    ::close(own);
    ::close(there);
    REQUIRE(client != nullptr);
    return client;
  }
  [[nodiscard]] std::string model_path() const { return file("tiny.gguf"); }
  /// As TestCluster::wait_idle.
  std::string wait_idle(size_t workers, int64_t timeout_ms) {
    std::string last;
    const bool idle = eventually(
        [&] {
          last = run(1, {"status", "--json"}).out;
          return is_idle(Json::parse(last, nullptr, false), workers);
        },
        timeout_ms);
    return idle ? std::string() : last;
  }

  /// The addresses on which anything listens there, as the kernel writes them.
  std::set<std::string> listeners(int host) {
    std::set<std::string> found;
    std::istringstream text(
        start(host, {"cat", "/proc/net/tcp", "/proc/net/tcp6"})->wait(5'000).out);
    for (std::string line; std::getline(text, line);) {
      std::istringstream fields(line);
      std::string number, local, remote, state;
      fields >> number >> local >> remote >> state;
      if (state == "0A") found.insert(local.substr(0, local.find(':')));
    }
    return found;
  }

 private:
  [[nodiscard]] const std::string& name_of(int host) const { return host == 1 ? one_ : two_; }
  Finished run_tool(const std::vector<std::string>& words) {
    return Program(words, {}, path_ / "tool").wait(5'000);
  }
  bool ip(std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/env", "ip"});
    const Finished finished = run_tool(words);
    if (finished.exit_code != 0 && why_not_.empty()) why_not_ = finished.err;
    return finished.exit_code == 0;
  }
  /// The kernel says so up to a second after both ends are up, and UCX takes no device before.
  bool is_running(const std::string& host) {
    return eventually(
        [&] {
          return run_tool({"/usr/bin/env", "ip", "-n", host, "link", "show", "troupe0"})
                     .out.find("state UP") != std::string::npos;
        },
        5'000);
  }
  bool join(const std::string& host, const std::string& address) {
    return ip({"-n", host, "addr", "add", address + "/24", "dev", "troupe0"}) &&
           ip({"-n", host, "link", "set", "troupe0", "up"}) &&
           ip({"-n", host, "link", "set", "lo", "up"});
  }

  std::string roles_more_, one_, two_, why_not_;
  std::filesystem::path path_;
  bool works_ = false;
  int runs_ = 0;
};

}  // namespace troupe::testing
