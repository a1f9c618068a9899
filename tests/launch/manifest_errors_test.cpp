// Every error that the reader and the planner can make: file, line, column, what was expected.
#include <doctest/doctest.h>

#include <regex>
#include <string>

#include "base/concat.hpp"
#include "launch/machine.hpp"
#include "launch/manifest.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/plan.hpp"

namespace troupe::launch {
namespace {

const std::string head = "version: 1\nname: c\nmodels:\n  - name: m\n    path: m.gguf\n";
const std::string first_role = head + "roles:\n  - name: ";
const std::string all = first_role + "p\n    run: [directory, router, front, decode]\n";
const std::string two_hosts = all + "    host: a\nhosts: [{name: a}, {name: b}]\n";
const std::string two_models = head + "  - {name: n, path: n.gguf}\nroles:\n  - name: p\n    run: ";

std::string failure(const std::string& text, const std::string& host) {
  const auto manifest = parse_manifest(text, "x.yaml");
  if (!manifest.ok()) return manifest.error().message();
  const auto plan = make_plan(*manifest, host);
  return plan.ok() ? "no error" : plan.error().message();
}

struct Mistake {
  const char* place;  ///< "line:column"
  std::string text;
  const char* said;
  const char* host = "";
};

void check(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    const std::string told = failure(mistake.text, mistake.host);
    INFO(told);
    INFO(mistake.text.substr(0, 400));
    CHECK(told.find(concat("x.yaml:", mistake.place, ": ")) == 0);
    CHECK(told.find(mistake.said) != std::string::npos);
    CHECK(told.find("expected ") != std::string::npos);
  }
}

std::string entries(int count) {
  std::string text = "x: [";
  for (int i = 0; i < count; ++i) text += "1,";
  return text + "1]";
}

TEST_CASE("mistakes of the YAML itself") {
  std::string many = entries(4000);
  for (int i = 0; i < 13; ++i) many += "\n" + concat("y", i) + entries(4000).substr(1);
  check({
      {"1:1", "", "the file is empty"},
      {"1:1", std::string((1 << 20) + 1, '#'), "1048577 bytes, expected at most 1048576"},
      {"1:17", std::string(60, '[') + std::string(60, ']'),
       "nested 17 levels deep, expected at most 16"},
      {"1:9", std::string(3000, '['), "nested 17 levels deep, expected at most 16"},
      {"2:9", "x:\n" + std::string(3000, '['), "nested 17 levels deep"},
      {"1:33", concat("- - - - - - - - - - - - - - - - - - - - - ", 1), "nested 17 levels deep"},
      {"1:4", "a: &x 1\n", "an anchor (&name) is not allowed"},
      {"1:4", "a: !!str 1\n", "a tag (!name) is not allowed"},
      {"1:4", "a: &x 1\nb: *x\n", "allowed"},
      {"1:7", "name: " + std::string(5000, 'x'), "a value of 5000 bytes, expected at most 4096"},
      {"1:1", "[1]: 2\n", "found a list as a field's name, expected plain text"},
      {"2:1", "---\na: 1\n---\nb: 2\n", "several documents in one file, expected one"},
      {"1:8197", entries(4096), "entry 4097 of a list, expected at most 4096"},
      {"13:3933", many, "of the file, expected at most 50000"},
      {"2:1", "a: [1\n", "not YAML"},
      {"1:5", "a: b: c\n", "illegal map value"},
      {"1:2", "\t- x", "not YAML"},
      {"1:1", std::string("\xff\xfe\x00\x01", 4), "expected"},
      {"1:1", "just text", "found a text, expected fields"},
      {"1:1", "- 1\n", "found a list, expected fields"},
  });
}

TEST_CASE("mistakes of fields") {
  check({
      {"1:1", head, "the manifest has no \"roles\""},
      {"9:5", all + "    threds: 1\n", "did you mean \"threads\"?"},
      {"10:5", all + "    threads: 1\n    threads: 1\n", "duplicate field"},
      {"9:14", all + "    threads: many\n", "found \"many\", expected a number"},
      {"9:14", all + "    threads: 5000\n", "out of range, expected from 0 to 4096"},
      {"9:16", all + "    kv_memory: 512\n", "has no unit"},
      {"9:16", all + "    kv_memory: 99999999TiB\n", "too large or not a whole number of bytes"},
      {"9:16", all + "    kv_memory: 1.0000001KiB\n", "not a whole number of bytes"},
      {"9:13", all + "    device: cup\n", "did you mean \"cpu\"?"},
      {"8:11", first_role + "p\n    run: [decoed]\n", "did you mean \"decode\"?"},
      {"8:10", first_role + "p\n    run: []\n", "an empty list"},
      {"8:10", first_role + "p\n    run: decode\n", "found a text, expected a list of"},
      {"7:11", first_role + "[1]\n    run: [decode]\n", "found a list"},
      {"7:11", first_role + "P!\n    run: [decode]\n", "expected a name of a-z"},
      {"9:18", all + "transport: {tcp: yes}\n", "did you mean \"true\"?"},
      {"9:28", all + "hosts: [{name: h, address: a b}]\n", "an IP address or a host name"},
      {"9:5", all + "    model: n\n", "there is no \"n\" in \"models\", expected m"},
      {"9:5", all + "    host: mars\n", "there is no \"mars\" in \"hosts\""},
      {"9:9", all + "limits: 5\n", "found a number, expected fields"},
  });
}

TEST_CASE("contradictions") {
  const std::string more = "  - name: q\n    run: [prefill]\n";
  check({
      {"9:5", all + "  - name: p\n    run: [prefill]\n", "\"p\" is taken"},
      {"8:19", first_role + "p\n    run: [decode, decode]\n", "stands twice"},
      {"12:5", all + "    port: 70\n" + more + "    port: 70\n", "70 is used twice"},
      {"9:5", all + "    port: 70\n    count: 2\n", "cannot share port 70"},
      {"6:1", first_role + "p\n    run: [decode]\n    count: 1024\n" + more + "    count: 2\n",
       "1026 processes, expected at most 1024"},
      {"9:13", all + "transport: {tcp: false, shared_memory: false}\n", "both false"},
      {"9:10", all + "limits: {chunk_tokens: 1024}\n", "more than step_tokens_max"},
      {"8:5", two_models + "[decode]\n", "left out, expected m or n"},
      {"7:5", first_role + "client\n    run: [decode]\n",
       "\"client\" is reserved for the certificate of the users, expected another name, did you "
       "mean \"client-1\"?"},
      {"7:5", first_role + "ca\n    run: [decode]\n", "reserved"},
      {"7:5", first_role + "supervisor\n    run: [decode]\n", "reserved"},
      {"7:5", first_role + "a-key\n    run: [decode]\n", "did you mean \"a-keys\"?"},
      {"11:5",
       first_role + "a-2\n    run: [decode]\n  - name: a\n    run: [prefill]\n    count: 2\n",
       "process \"a-2\" of this count has the name of one of roles[0] (line 7)"},
      {"10:5",
       first_role + "a\n    run: [decode]\n    count: 2\n  - name: a-2\n    run: [prefill]\n",
       "process \"a-2\" has the name of one of roles[0] (line 7)"},
  });
}

TEST_CASE("mistakes that the planner finds") {
  check({
      {"6:1", first_role + "p\n    run: [router, front, decode]\n",
       "no process runs \"directory\", expected exactly one"},
      {"9:5", all + "  - name: q\n    run: [directory]\n", "2 processes run \"directory\""},
      {"6:1", first_role + "p\n    run: [directory, router, front]\n", "runs \"decode\""},
      {"8:45", first_role + "p\n    run: [directory, router, front, decode, monitor]\n",
       "role \"monitor\" of process \"p\" is not built yet, expected directory, router"},
      {"9:5", all + "    device: gpu\n", "no GPU backend, expected cpu"},
      {"10:1", two_hosts, "several hosts, and none was chosen, expected --host with a or b"},
      {"10:1", two_hosts, "there is no host \"bb\", expected a or b", "bb"},
      {"11:5",
       two_models + "[directory, router, front]\n    model: m\n  - {name: q, run: [decode], "
                    "model: n}\n",
       "expected a process that runs \"front\" for that model too"},
      {"7:5",
       all + "    host: a\n  - {name: q, run: [prefill], host: b}\nhosts: [{name: a}, {name: b}]\n",
       "expected a port", "a"},
  });
}

// Every field, with values of every wrong kind.
void check_field(const FieldDescriptor& field, const std::string& start) {
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const std::string name = yaml_name(field);
  for (const char* value :
       {"{a: 1}", "[[1]]", "", "\"\"", "\"x\\0y\"", "-1", "1.5", "nan", "x y z"}) {
    // A text may be nearly anything.
    if (is_text && std::string_view("-1 1.5 nan x y z").find(value) != std::string_view::npos &&
        *value != '\0') {
      continue;
    }
    const std::string told = failure(concat(start, name, ": ", value, "\n"), "");
    INFO(name, ": ", std::string(value));
    INFO(told);
    for (size_t at = 0; at < told.size();) {
      const size_t end = std::min(told.find('\n', at), told.size());
      const std::string line = told.substr(at, end - at);
      CHECK(std::regex_search(line, std::regex("^x\\.yaml:[0-9]+:[0-9]+: .*expected ")));
      at = end + 1;
    }
    CHECK_FALSE(told.empty());
  }
}

TEST_CASE("every field refuses values of other kinds, and names its place") {
  const auto& root = *v1::Manifest::descriptor();
  for (int i = 0; i < root.field_count(); ++i) {
    const FieldDescriptor& field = *root.field(i);
    check_field(field, "");
    if (field.message_type() == nullptr) continue;
    for (int k = 0; k < field.message_type()->field_count(); ++k) {
      check_field(*field.message_type()->field(k),
                  concat(yaml_name(field), ":\n  ", field.is_repeated() ? "- " : ""));
    }
  }
}

TEST_CASE("memory that the machine does not have is refused with the numbers") {
  const auto manifest =
      parse_manifest(head +
                         "roles:\n  - {name: p, run: [directory, router, front]}\n"
                         "  - {name: q, run: [decode], kv_memory: 4GiB, count: 2}\n",
                     "x.yaml");
  REQUIRE(manifest.ok());
  const auto told = [&](const Manifest& of, const Machine& machine) {
    auto plan = make_plan(of);
    REQUIRE(plan.ok());
    const Status fits = check_memory(of, machine, *plan);
    if (!fits.ok()) return fits.error().what;
    std::string notes;
    for (const std::string& note : plan->notes) notes += note + "\n";
    return notes;
  };
  constexpr uint64_t gib = 1ull << 30;
  CHECK(
      told(*manifest, {.memory_bytes = 6 * gib, .shared_bytes = 6 * gib}) ==
      "x.yaml:8:30: roles[1].kv_memory: the processes of host \"local\" want 8192 MiB of KV memory "
      "and 0 MiB of weights, and this machine has 6144 MiB, expected at most 6144 MiB without "
      "the weights");
  CHECK(told(*manifest, {.memory_bytes = 16 * gib, .shared_bytes = gib})
            .find("/dev/shm has 1024 MiB free: blocks of pools that do not fit travel over TCP") !=
        std::string::npos);
  CHECK(told(*manifest, {.memory_bytes = 8 * gib, .shared_bytes = 8 * gib})
            .find("need 8192 MiB of the 8192 MiB") != std::string::npos);
  CHECK(told(*manifest, {.memory_bytes = 32 * gib, .shared_bytes = 16 * gib}).find("MiB") ==
        std::string::npos);
  CHECK(told(*manifest, {}).find("refused") == std::string::npos);
  Manifest without_tcp = *manifest;
  without_tcp.spec.mutable_transport()->set_tcp(false);
  CHECK(told(without_tcp, {.memory_bytes = 16 * gib, .shared_bytes = gib})
            .find("x.yaml:8:30: roles[1].kv_memory: the processes of host \"local\" want 8192 MiB "
                  "for KV blocks, and /dev/shm has 1024 MiB free, expected at most 1024 MiB") == 0);
  CHECK(this_machine().memory_bytes > 0);
}

TEST_CASE("the memory of a store and of a draft actor counts as well") {
  const auto manifest = parse_manifest(
      head +
          "roles:\n  - {name: p, run: [directory, router, front, decode], kv_memory: 1GiB}\n"
          "  - {name: s, run: [kv_store], store_memory: 5GiB}\n"
          "  - {name: d, run: [draft], draft_memory: 2GiB}\n",
      "x.yaml");
  REQUIRE(manifest.ok());
  constexpr uint64_t gib = 1ull << 30;
  const auto fits = [&](const Machine& machine) {
    auto plan = make_plan(*manifest);
    REQUIRE(plan.ok());
    return check_memory(*manifest, machine, *plan);
  };
  const Status refused = fits({.memory_bytes = 7 * gib, .shared_bytes = 7 * gib});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().what ==
        "x.yaml:8:32: roles[1].store_memory: the processes of host \"local\" want 1024 MiB of KV "
        "memory, 5120 MiB of store memory, 2048 MiB of draft memory and 0 MiB of weights, and this "
        "machine has 7168 MiB, expected at most 7168 MiB without the weights");
  CHECK(fits({.memory_bytes = 9 * gib, .shared_bytes = 6 * gib}).ok());
  auto plan = make_plan(*manifest);
  REQUIRE(check_memory(*manifest, {.memory_bytes = 20 * gib, .shared_bytes = 5 * gib}, *plan).ok());
  REQUIRE(plan->notes.size() == 1);
  CHECK(plan->notes[0].find("6144 MiB for KV blocks, and /dev/shm has 5120") != std::string::npos);
}

}  // namespace
}  // namespace troupe::launch
