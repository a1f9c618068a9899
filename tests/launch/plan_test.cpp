#include "launch/plan.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/folders.hpp"

namespace troupe::launch {
namespace {

const std::string head = "version: 1\nname: c\nmodels: [{name: m, path: m.gguf}]\n";

Result<LaunchPlan> plan_of(const std::string& text, const std::string& host = {}) {
  TROUPE_ASSIGN(const Manifest manifest, parse_manifest(head + text, "x.yaml"));
  return make_plan(manifest, host);
}

std::string failure(const std::string& text, const std::string& host = {}) {
  const auto plan = plan_of(text, host);
  return plan.ok() ? "no error" : plan.error().message();
}

TEST_CASE("a cluster of three processes") {
  const auto plan = plan_of(
      "roles:\n"
      "  - {name: prefill, run: [prefill], threads: 2, kv_memory: 64MiB}\n"
      "  - {name: decode, run: [decode], count: 2}\n"
      "  - {name: head, run: [directory, router, front], port: 7000}\n"
      "transport: {shared_memory: false}\n");
  REQUIRE(plan.ok());
  REQUIRE(plan->processes.size() == 4);
  CHECK(plan->processes[0].name == "head");
  CHECK(plan->processes[0].port == 7000);
  CHECK(plan->processes[0].kv_bytes == 0);
  CHECK(plan->processes[0].threads == 1);
  CHECK(plan->processes[1].name == "prefill");
  CHECK(plan->processes[1].kv_bytes == 64u << 20);
  CHECK(plan->processes[1].threads == 2);
  CHECK(plan->processes[2].name == "decode-1");
  CHECK(plan->processes[3].name == "decode-2");
  CHECK(plan->processes[3].threads >= 1);
  CHECK(plan->processes[3].is_here);
  CHECK(plan->find("decode-2")->model == "m");
  CHECK(plan->find("decode") == nullptr);
  CHECK(plan->environment.back() == std::pair<std::string, std::string>("UCX_TLS", "tcp,self"));
}

TEST_CASE("the plan as table and as JSON") {
  const auto plan = plan_of(
      "roles: [{name: all, run: [directory, router, front, decode], kv_memory: 1GiB}]\n"
      "endpoints: [{name: e, model: m}]\n");
  REQUIRE(plan.ok());
  const std::string table = to_table(*plan);
  CHECK(table.find("all      local  directory router front decode  m") != std::string::npos);
  CHECK(table.find("1GiB  chosen") != std::string::npos);
  CHECK(table.find("endpoints has no effect yet.") != std::string::npos);
  const auto json = nlohmann::json::parse(to_json(*plan));
  CHECK(json["processes"][0]["roles"][3] == "decode");
  CHECK(json["processes"][0]["kv_bytes"] == 1u << 30);
  CHECK(json["environment"]["UCX_HANDLE_ERRORS"] == "none");
}

TEST_CASE("a cast must be complete and built") {
  CHECK(failure("roles: [{name: a, run: [router, front, decode]}]") ==
        "x.yaml:4:1: no process runs \"directory\", expected exactly one");
  CHECK(failure("roles: [{name: a, run: [directory, router, front, decode]}, "
                "{name: b, run: [directory]}]") ==
        "x.yaml:4:61: 2 processes run \"directory\", expected exactly one");
  CHECK(failure("roles: [{name: a, run: [directory, router, front]}]") ==
        "x.yaml:4:1: no process runs \"decode\", expected at least one");
  CHECK(failure("roles: [{name: a, run: [directory, router, front, decode, monitor]}]") ==
        "x.yaml:4:59: role \"monitor\" of process \"a\" is not built yet, expected directory, "
        "router, front, prefill, decode, draft, kv_store or gateway");
  CHECK(failure("roles: [{name: a, run: [directory, router, front, decode], device: gpu}]")
            .find("no GPU backend") != std::string::npos);
  CHECK(failure("roles: [{name: client, run: [directory, router, front, decode]}]")
            .find("reserved") != std::string::npos);
  CHECK(failure("roles: [{name: a-1, run: [directory, router, front, decode]}, "
                "{name: a, run: [decode], count: 2}]")
            .find("of this count has the name of one of roles[0]") != std::string::npos);
}

TEST_CASE("several hosts: one is planned for") {
  const std::string text =
      "hosts: [{name: one, address: 10.0.0.1}, {name: two, address: 10.0.0.2}]\n"
      "roles:\n"
      "  - {name: head, host: one, run: [directory, router, front], port: 7000}\n"
      "  - {name: work, host: two, run: [prefill, decode]}\n"
      "security: {certificates_path: certs}\n";
  CHECK(failure(text).find("several hosts") != std::string::npos);
  CHECK(failure(text, "tow") ==
        "x.yaml:4:1: there is no host \"tow\", expected one or two, did you mean \"two\"?");
  const auto plan = plan_of(text, "two");
  REQUIRE(plan.ok());
  CHECK_FALSE(plan->find("head")->is_here);
  CHECK(plan->find("head")->address == "10.0.0.1");
  CHECK(plan->find("work")->is_here);
}

TEST_CASE("a draft actor runs in a process of its own or with others, with its memory") {
  const auto plan = plan_of(
      "roles:\n"
      "  - {name: head, run: [directory, router, front, draft], draft_memory: 1MiB}\n"
      "  - {name: work, run: [decode]}\n"
      "  - {name: guess, run: [draft]}\n");
  REQUIRE(plan.ok());
  CHECK(plan->find("head")->draft_bytes == 1u << 20);
  CHECK(plan->find("work")->draft_bytes == 0);
  CHECK(plan->find("guess")->draft_bytes == 64u << 20);
  CHECK(plan->find("guess")->kv_bytes == 0);
  CHECK(plan->notes.empty());
}

TEST_CASE("a store with a disk has a folder of its own and a size for it") {
  const std::string others = "roles:\n  - {name: head, run: [directory, router, front, decode]}\n";
  const auto plan = plan_of(others +
                            "  - {name: store, run: [kv_store], count: 2, store_disk: 3GiB, "
                            "store_path: /var/kv}\n"
                            "  - {name: bare, run: [kv_store]}\n");
  REQUIRE(plan.ok());
  CHECK(plan->find("store-1")->store_disk_bytes == 3u << 30);
  CHECK(plan->find("store-1")->store_path == "/var/kv-1");
  CHECK(plan->find("store-2")->store_path == "/var/kv-2");
  CHECK(plan->find("bare")->store_disk_bytes == 0);
  CHECK(plan->find("bare")->store_path.empty());
  CHECK(plan->notes.empty());
  CHECK(failure(others + "  - {name: store, run: [kv_store], store_disk: 1GiB}\n")
            .find("store_disk without store_path") != std::string::npos);
  CHECK(failure(others + "  - {name: store, run: [kv_store], store_path: /var/kv}\n")
            .find("store_path without store_disk") != std::string::npos);
  CHECK(failure(others + "  - {name: a, run: [kv_store], store_disk: 1GiB, store_path: /var/kv}\n"
                         "  - {name: b, run: [kv_store], store_disk: 1GiB, store_path: /var/kv}\n")
            .find("\"a\" and \"b\" have the same store_path /var/kv") != std::string::npos);
}

TEST_CASE("the manifests that are shipped can be planned") {
  for (const char* name : {"quickstart", "single"}) {
    const std::string path = testing::source_folder() + "/deploy/" + name + ".yaml";
    const auto text = load_manifest(path);
    if (!text.ok()) {
      // Without the downloaded weights exactly that, and nothing else, is wrong.
      CHECK_MESSAGE(text.error().what.find("there is no file \"weights/") != std::string::npos,
                    text.error().what);
      continue;
    }
    const auto plan = make_plan(*text);
    REQUIRE_MESSAGE(plan.ok(), plan.error().what);
    CHECK(plan->cluster == name);
    CHECK(plan->processes.back().model_path.front() == '/');
  }
}

}  // namespace
}  // namespace troupe::launch
