#include "launch/manifest.hpp"

#include <doctest/doctest.h>

#include <string>

#include "launch/manifest_rules.hpp"
#include "launch/manifest_value.hpp"

namespace troupe::launch {
namespace {

const std::string head = "version: 1\nname: c\nmodels:\n  - name: m\n    path: m.gguf\n";
const std::string roles = "roles:\n  - name: p\n    run: [directory, router, front, decode]\n";

std::string failure(const std::string& text) {
  const auto manifest = parse_manifest(text, "x.yaml");
  if (manifest.ok()) return "no error";
  return manifest.error().what;
}

TEST_CASE("a small manifest gets every default") {
  const auto manifest = parse_manifest(head + roles, "x.yaml");
  REQUIRE_MESSAGE(manifest.ok(), failure(head + roles));
  const v1::Manifest& spec = manifest->spec;
  CHECK(spec.name() == "c");
  CHECK(spec.models(0).compute() == v1::Manifest::COMPUTE_FAST);
  CHECK(spec.models(0).kv_type() == v1::Manifest::KV_TYPE_F16);
  CHECK(spec.models(0).kv_type_k() == v1::Manifest::KV_TYPE_UNSPECIFIED);
  REQUIRE(spec.hosts_size() == 1);
  CHECK(spec.hosts(0).name() == "local");
  CHECK(spec.hosts(0).address() == "127.0.0.1");
  CHECK(spec.hosts(0).data_address() == "127.0.0.1");
  CHECK(spec.roles(0).host() == "local");
  CHECK(spec.roles(0).model() == "m");
  CHECK(spec.roles(0).kv_memory_bytes() == 256u << 20);
  CHECK(spec.roles(0).count() == 1);
  CHECK(spec.limits().running_max() == 64);
  CHECK(spec.limits().request_timeout_ms() == 600'000);
  CHECK(spec.transport().shared_memory());
  CHECK(spec.transport().tcp());
  CHECK(manifest->digest.size() == 64);
  CHECK(manifest->where("roles[0].run") == "x.yaml:8:5: ");
  CHECK(manifest->where("roles[0].port") == "x.yaml:7:5: ");
}

TEST_CASE("every field can be written") {
  const std::string text = R"(
version: 1
name: wide-1
models:
  - {name: a, path: a.gguf, compute: exact, kv_type: f32, context_max: 4096, served_name: A/1}
  - {name: b, path: b.gguf, chat_template_path: t.jinja, kv_type: bf16, kv_type_k: q8_0,
     kv_type_v: f16}
hosts:
  - {name: one, address: 10.0.0.1, data_address: 192.168.0.1}
  - {name: two, address: node-2.example.org}
roles:
  - {name: head, host: one, run: [directory, router, front, gateway, monitor], model: a, port: 7000}
  - {name: work, host: two, run: [prefill, decode], model: b, threads: 8, kv_memory: 1.5GiB,
     count: 3, device: gpu}
  - {name: store, host: two, run: [kv_store, draft], store_memory: 4GiB, store_disk: 1TiB,
     store_path: /var/lib/troupe, draft_memory: 1GiB}
endpoints:
  - {name: chat, model: b, kind: dedicated, workers: [work], tenants: [team], borrow: true}
tenants:
  - {name: team, priority: 9, weight: 2, requests_per_minute: 60, tokens_per_minute: 100000,
     running_max: 4, share_cache: true}
limits:
  running_max: 8
  waiting_max: 0
  chunk_tokens: 64
  step_tokens_max: 128
  draft_tokens_max: 0
  output_tokens_max: 512
  request_timeout: 2m
  lease: 1s
  connect_timeout: 250ms
  start_timeout: 1h
  stop_timeout: 5s
  drain_timeout: 1d
transport: {shared_memory: false, tcp: true, page_lease: 10s}
security: {certificates_path: /etc/troupe, secret_path: /etc/troupe/secret}
)";
  const auto manifest = parse_manifest(text, "x.yaml");
  REQUIRE_MESSAGE(manifest.ok(), failure(text));
  const v1::Manifest& spec = manifest->spec;
  CHECK(spec.roles(1).kv_memory_bytes() == 1536ull << 20);
  CHECK(spec.roles(2).run(0) == v1::Manifest::ROLE_KV_STORE);
  CHECK(spec.roles(2).draft_memory_bytes() == 1u << 30);
  CHECK(spec.roles(0).draft_memory_bytes() == 64u << 20);
  CHECK(spec.limits().drain_timeout_ms() == 86'400'000);
  CHECK(spec.limits().waiting_max() == 0);
  CHECK(spec.hosts(1).data_address() == "node-2.example.org");
  CHECK_FALSE(spec.transport().shared_memory());
}

TEST_CASE("mistakes are reported with place, expectation and the nearest name") {
  const std::string all = head + roles;
  CHECK(failure(all + "    threds: 2\n") ==
        "x.yaml:9:5: unknown field \"threds\" in roles[0], expected name, run, host, model, "
        "threads, kv_memory, port, count, device, store_memory, store_disk, store_path, "
        "draft_memory, listen, keys_path, tls_certificate_path and 3 more, did you mean "
        "\"threads\"?");
  CHECK(failure(all + "    kv_memory: 512\n") ==
        "x.yaml:9:16: roles[0].kv_memory: \"512\" has no unit, expected an amount with its unit, "
        "such as 512MiB or 2GiB, did you mean \"512MiB\"?");
  CHECK(failure(all + "    kv_memory: 512mib\n") ==
        "x.yaml:9:16: roles[0].kv_memory: \"512mib\" is not an amount, expected an amount with "
        "its unit, such as 512MiB or 2GiB, did you mean \"512MiB\"?");
  CHECK(failure(all + "    threads: many\n") ==
        "x.yaml:9:14: roles[0].threads: found \"many\", expected a number from 0 to 4096");
  CHECK(failure(all + "    threads: \"2\"\n") ==
        "x.yaml:9:14: roles[0].threads: found a text in quotes, \"2\", expected a number from 0 to "
        "4096");
  CHECK(failure(all + "    port: 70000\n") ==
        "x.yaml:9:11: roles[0].port: \"70000\" is out of range, expected from 0 to 65535");
  CHECK(failure(all + "    threads: 1\n    threads: 2\n") ==
        "x.yaml:10:5: duplicate field \"threads\" in roles[0], expected it once (it also stands on "
        "line 9)");
  CHECK(failure(all + "transport: {tcp: yes}\n") ==
        "x.yaml:9:18: transport.tcp: found \"yes\", expected true or false, did you mean "
        "\"true\"?");
  CHECK(
      failure(head + "    kv_type_k: q8-0\n" + roles) ==
      "x.yaml:6:16: models[0].kv_type_k: found \"q8-0\", expected f16, f32, bf16 or q8_0, did you "
      "mean \"q8_0\"?");
  CHECK(failure(head + "roles:\n  - name: p\n    run: [decoed]\n") ==
        "x.yaml:8:11: roles[0].run[0]: found \"decoed\", expected directory, router, front, "
        "prefill, decode, draft, kv_store, gateway or monitor, did you mean \"decode\"?");
  CHECK(failure(head) ==
        "x.yaml:1:1: the manifest has no \"roles\", expected one: fields name, run, host, model "
        "and 15 more");
  CHECK(failure("version: 2\n" + all.substr(11)) ==
        "x.yaml:1:10: version: \"2\" is out of range, expected 1");
  CHECK(failure(all + "    model: n\n") ==
        "x.yaml:9:5: roles[0].model: there is no \"n\" in \"models\", expected m");
  CHECK(failure(all + "    host: mars\n") ==
        "x.yaml:9:5: roles[0].host: there is no \"mars\" in \"hosts\", expected local");
  CHECK(failure(all + "    kv_memory: [1]\n") ==
        "x.yaml:9:16: roles[0].kv_memory: found a list, expected an amount such as 512MiB");
  CHECK(failure(all + "limits: {lease: 5}\n") ==
        "x.yaml:9:17: limits.lease: \"5\" has no unit, expected a duration with its unit, such as "
        "250ms, 30s or 10m, did you mean \"5s\"?");
}

TEST_CASE("contradictions between fields") {
  const std::string all = head + roles;
  CHECK(failure(all + "    port: 7000\n  - name: q\n    run: [prefill]\n    port: 7000\n") ==
        "x.yaml:12:5: roles[1].port: 7000 is used twice on host \"local\", expected a free port or "
        "none (it also stands on line 9)");
  CHECK(failure(all + "  - name: p\n    run: [prefill]\n") ==
        "x.yaml:9:5: roles[1].name: \"p\" is taken, expected a name of its own (it also stands on "
        "line 7)");
  CHECK(failure(all + "    port: 7000\n    count: 2\n").find("cannot share port 7000") !=
        std::string::npos);
  CHECK(failure(all + "transport: {tcp: false, shared_memory: false}\n").find("both false") !=
        std::string::npos);
  CHECK(failure(all + "limits: {chunk_tokens: 1024}\n").find("more than step_tokens_max") !=
        std::string::npos);
  CHECK(failure(head + "roles:\n  - name: p\n    run: [decode, decode]\n").find("stands twice") !=
        std::string::npos);
  const std::string two = head + "  - name: n\n    path: n.gguf\n" + roles;
  CHECK(failure(two) ==
        "x.yaml:9:5: roles[0].model: left out, expected m or n, as there is more than one in "
        "\"models\"");
}

TEST_CASE("several mistakes come in one error, in the order of the file") {
  const std::string text = failure(head + roles + "    treads: 1\n    port: x\nlimit: {}\n");
  CHECK(text.find("x.yaml:9:5: ") == 0);
  CHECK(text.find("\nx.yaml:10:11: ") != std::string::npos);
  CHECK(text.find("\nx.yaml:11:1: unknown field \"limit\" in the manifest") != std::string::npos);
  CHECK(text.find("did you mean \"limits\"?") != std::string::npos);
}

TEST_CASE("bombs and things that are no manifest") {
  CHECK(failure("a: &x 1\n").find("anchor") != std::string::npos);
  CHECK(failure("a: *x\n").find("x.yaml:1:") == 0);
  CHECK(failure("a: !!str 1\n").find("tag") != std::string::npos);
  CHECK(failure("").find("empty") != std::string::npos);
  CHECK(failure("just text").find("expected fields") != std::string::npos);
  CHECK(failure("- 1\n").find("found a list") != std::string::npos);
  CHECK(failure("---\na: 1\n---\nb: 2\n").find("several documents") != std::string::npos);
  CHECK(failure("a: [1\n").find("x.yaml:") == 0);
  CHECK(failure("a: b: c\n").find("x.yaml:1:") == 0);
  CHECK(failure("\t- x").find("x.yaml:") == 0);
  CHECK(failure(std::string(3000, '[')).find("x.yaml:1:") == 0);
  CHECK(failure(std::string(60, '[') + std::string(60, ']')).find("nested 17 levels deep") !=
        std::string::npos);
  CHECK(failure("name: " + std::string(5000, 'x')).find("bytes, expected at most") !=
        std::string::npos);
  CHECK(failure(std::string((1 << 20) + 1, '#')).find("expected at most") != std::string::npos);
  CHECK(failure(std::string("\xff\xfe\x00\x01", 4)).find("x.yaml:") == 0);
  std::string many = "x: [";
  for (int i = 0; i < 5000; ++i) many += "1,";
  CHECK(failure(many + "1]").find("entry 4097 of a list") != std::string::npos);
}

void check_message(const google::protobuf::Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    CHECK_MESSAGE(field_by_yaml_name(type, yaml_name(field)) == &field, field.full_name());
    CHECK_MESSAGE(!expectation(field).empty(), field.full_name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) check_message(*field.message_type());
  }
}

TEST_CASE("names in YAML are unambiguous and every default obeys its own rule") {
  check_message(*v1::Manifest::descriptor());
  for (int i = 0; i < v1::Manifest::descriptor()->nested_type_count(); ++i) {
    const auto* type = v1::Manifest::descriptor()->nested_type(i);
    const auto* prototype =
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
    const std::unique_ptr<google::protobuf::Message> message(prototype->New());
    set_defaults(*message);
    CHECK(message->IsInitialized());
  }
}

}  // namespace
}  // namespace troupe::launch
