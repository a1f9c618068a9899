// Every registered message over a real connection: two actor systems, mutual TLS, loopback.
#include <doctest/doctest.h>
#include <google/protobuf/message.h>

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/node.hpp"
#include "actors/runtime.hpp"
#include "launch/certificates.hpp"
#include "schemas/convert.hpp"
#include "tests/launch/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

using namespace std::chrono_literals;

TlsFiles tls_of(const std::filesystem::path& folder, const std::string& node) {
  const auto files = launch::certificate_files(folder, node);
  return {files.certificate, files.key, files.authority};
}

/// An authority with certificates for "a" and "b"; made once, they take a while.
const std::filesystem::path& certificates() {
  static const launch::TemporaryFolder folder;
  static const bool made = [] {
    const Status status = launch::make_certificates(folder.path(), "test", {"a", "b"});
    REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message()));
    return true;
  }();
  (void)made;
  return folder.path();
}

/// Sets every field that the message has, nested ones included, from a seed.
void fill(google::protobuf::Message& message, std::mt19937& random, int depth = 0) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  const auto* description = message.GetDescriptor();
  for (int i = 0; i < description->field_count(); ++i) {
    const FieldDescriptor* field = description->field(i);
    const int count = field->is_repeated() ? 1 + static_cast<int>(random() % 3) : 1;
    for (int n = 0; n < count; ++n) {
      const auto set = [&](auto setter, auto adder, auto value) {
        if (field->is_repeated()) {
          (reflection->*adder)(&message, field, value);
        } else {
          (reflection->*setter)(&message, field, value);
        }
      };
      using R = google::protobuf::Reflection;
      const uint32_t number = static_cast<uint32_t>(random()) | 1u;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT32:
          set(&R::SetInt32, &R::AddInt32, static_cast<int32_t>(number));
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          set(&R::SetInt64, &R::AddInt64, static_cast<int64_t>(uint64_t{number} << 31));
          break;
        case FieldDescriptor::CPPTYPE_UINT32:
          set(&R::SetUInt32, &R::AddUInt32, number);
          break;
        case FieldDescriptor::CPPTYPE_UINT64:
          set(&R::SetUInt64, &R::AddUInt64, uint64_t{number} << 32 | number >> 1);
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          set(&R::SetDouble, &R::AddDouble, static_cast<double>(number) / 3.0);
          break;
        case FieldDescriptor::CPPTYPE_FLOAT:
          set(&R::SetFloat, &R::AddFloat, static_cast<float>(number) / 3.0f);
          break;
        case FieldDescriptor::CPPTYPE_BOOL:
          set(&R::SetBool, &R::AddBool, true);
          break;
        case FieldDescriptor::CPPTYPE_ENUM: {
          const auto* value = field->enum_type()->value(field->enum_type()->value_count() - 1);
          if (field->is_repeated()) {
            reflection->AddEnum(&message, field, value);
          } else {
            reflection->SetEnum(&message, field, value);
          }
          break;
        }
        case FieldDescriptor::CPPTYPE_STRING: {
          // Zeros and bytes that are no UTF-8 where the field is bytes.
          std::string text = "text";
          if (field->type() == FieldDescriptor::TYPE_BYTES) text += std::string("\0\xFF\x80", 3);
          text.append(random() % 200, 'x');
          if (field->is_repeated()) {
            reflection->AddString(&message, field, text);
          } else {
            reflection->SetString(&message, field, text);
          }
          break;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
          REQUIRE(depth < 5);
          fill(field->is_repeated() ? *reflection->AddMessage(&message, field)
                                    : *reflection->MutableMessage(&message, field),
               random, depth + 1);
          break;
      }
    }
  }
}

caf::behavior echo(caf::event_based_actor* self) {
  self->set_default_handler(caf::reflect);
  return {[](const std::string& text) { return text; }};
}

/// Two processes in one: an echo published by "a", and "b" that talks to it.
struct TwoSystems {
  TwoSystems()
      : a(*Runtime::start(tls_of(certificates(), "a"))),
        b(*Runtime::start(tls_of(certificates(), "b"))) {
    published = a->system().spawn(echo);
    const auto bound = caf::openssl::publish(published, 0, "127.0.0.1", true);
    REQUIRE(bound);
    port = *bound;
    const auto found = caf::openssl::remote_actor(b->system(), "127.0.0.1", port);
    REQUIRE(found);
    remote = *found;
  }
  ~TwoSystems() {
    caf::anon_send_exit(published, caf::exit_reason::user_shutdown);
    published = nullptr;
    remote = nullptr;
  }

  /// What came back: the serialized message, or the error.
  template <class T>
  Result<std::string> round_trip(const T& message, std::chrono::milliseconds timeout = 5s) {
    caf::scoped_actor self(b->system());
    Result<std::string> answer = error(Code::internal, "nothing");
    self->request(remote, timeout, message)
        .receive(
            [&](const T& back) { answer = back.SerializeAsString(); },
            [&](const caf::error& e) { answer = error(Code::unavailable, b->system().render(e)); });
    return answer;
  }

  std::unique_ptr<Runtime> a, b;
  caf::actor published, remote;
  uint16_t port = 0;
};

template <caf::type_id_t... Offset>
std::set<std::string> registered(std::integer_sequence<caf::type_id_t, Offset...>) {
  return {caf::type_name_by_id<caf::id_block::troupe::begin + Offset>::value...};
}

/// Whether CAF knows every type of an interface.
template <class In, class Out>
constexpr bool signature_registered(caf::typed_mpi<In, Out>*);
template <class... In, class... Out>
constexpr bool signature_registered(
    caf::typed_mpi<caf::detail::type_list<In...>, caf::output_tuple<Out...>>*) {
  return (caf::has_type_id<In>::value && ...) &&
         ((caf::has_type_id<Out>::value || std::is_void_v<Out>)&&...);
}
template <class... Signatures>
constexpr bool signatures_registered(caf::detail::type_list<Signatures...>) {
  return (signature_registered(static_cast<Signatures*>(nullptr)) && ...);
}
template <class... Interfaces>
constexpr bool interfaces_registered() {
  return (signatures_registered(typename Interfaces::signatures{}) && ...);
}

static_assert(
    interfaces_registered<PartSink, MembersListener, NodeActor, DirectoryActor, RouterActor,
                          FrontActor, PrefillActor, DecodeActor, DeltaSink, AnnounceSink,
                          WorkerActor, DeviceActor, ClientActor, BlockSource, KvStoreActor>(),
    "an interface has a message that is not in TROUPE_WIRE_MESSAGES");

}  // namespace

TEST_CASE("every message type makes a round trip over TLS with all of its fields") {
  TwoSystems systems;
  std::set<std::string> tested;
  std::mt19937 random(1);
  const auto check = [&](auto message, const char* type) {
    for (const bool filled : {false, true}) {
      if (filled) fill(message, random);
      const auto back = systems.round_trip(message);
      REQUIRE_MESSAGE(back.ok(), type << ": " << (back.ok() ? "" : back.error().message()));
      CHECK_MESSAGE(*back == message.SerializeAsString(), type);
    }
    tested.insert(type);
  };
#define TROUPE_CHECK_MESSAGE(name) check(v1::name{}, "troupe::v1::" #name);
  TROUPE_WIRE_MESSAGES(TROUPE_CHECK_MESSAGE)
#undef TROUPE_CHECK_MESSAGE

  // The other registered types never leave a process.
  for (const char* local : {"StepTask", "StepDone", "Closure"}) {
    tested.insert(std::string("troupe::actors::") + local);
  }
  using Block = caf::id_block::troupe;
  CHECK(tested ==
        registered(std::make_integer_sequence<caf::type_id_t, Block::end - Block::begin>{}));
}

TEST_CASE("a message beyond the limit is refused, and what comes after it is served") {
  TwoSystems systems;
  v1::Part part;
  part.set_data(std::string(limits::message_bytes_max - 64, 'x'));
  CHECK(systems.round_trip(part).ok());
  part.set_data(std::string(limits::message_bytes_max + 1, 'x'));
  const auto refused = systems.round_trip(part, 1s);
  CHECK_FALSE(refused.ok());
  part.set_data("small");
  CHECK(systems.round_trip(part).ok());
}

TEST_CASE("a receiver refuses an oversize message whatever the sender allows") {
  v1::Part part;
  part.set_data(std::string(limits::message_bytes_max + 1, 'x'));
  std::vector<char> buffer;
  caf::binary_serializer out(nullptr, buffer);
  std::string bytes = part.SerializeAsString();
  REQUIRE_FALSE(out(bytes));
  caf::binary_deserializer in(nullptr, buffer);
  v1::Part parsed;
  CHECK(in(parsed) == caf::sec::invalid_argument);
  CHECK(parsed.data().empty());
  buffer.clear();
  caf::binary_serializer garbage(nullptr, buffer);
  std::string noise(100, '\xFF');
  REQUIRE_FALSE(garbage(noise));
  caf::binary_deserializer reading(nullptr, buffer);
  CHECK(reading(parsed) == caf::sec::invalid_argument);
}

namespace {

/// A node with the directory's role, and somebody who asks it.
struct OneNode {
  OneNode() {
    NodeOptions options;
    options.cluster = "test";
    options.name = "a";
    options.roles = {"directory"};
    options.tls = tls_of(certificates(), "a");
    auto started = Node::start(options);
    REQUIRE_MESSAGE(started.ok(), (started.ok() ? "" : started.error().message()));
    node = std::move(*started);
  }
  v1::Welcome ask(Runtime& runtime, const v1::Hello& hello) {
    const auto handle =
        caf::openssl::remote_actor<NodeActor>(runtime.system(), "127.0.0.1", node->port());
    REQUIRE(handle);
    caf::scoped_actor self(runtime.system());
    v1::Welcome answer;
    self->request(*handle, 5s, hello)
        .receive(
            [&](const v1::Welcome& welcome, const caf::strong_actor_ptr& role) {
              answer = welcome;
              CHECK((role != nullptr) ==
                    (!schemas::failed(welcome.failure()) && !hello.role().empty()));
            },
            [&](const caf::error& e) { FAIL(runtime.system().render(e)); });
    return answer;
  }
  std::unique_ptr<Node> node;
};

v1::Hello good_hello() {
  v1::Hello hello;
  hello.set_protocol(schemas::protocol_version);
  hello.set_cluster("test");
  hello.set_name("somebody");
  hello.set_role("directory");
  return hello;
}

bool can_connect(Runtime& runtime, uint16_t port) {
  return static_cast<bool>(
      caf::openssl::remote_actor<NodeActor>(runtime.system(), "127.0.0.1", port));
}

}  // namespace

TEST_CASE("a node says clearly whom it refuses and why") {
  OneNode one;
  auto runtime = *Runtime::start(tls_of(certificates(), "b"));
  CHECK_FALSE(schemas::failed(one.ask(*runtime, good_hello()).failure()));
  v1::Hello hello = good_hello();
  hello.set_protocol(schemas::protocol_version + 1);
  const v1::Failure protocol = one.ask(*runtime, hello).failure();
  CHECK(schemas::from_wire(protocol).code == Code::failed_precondition);
  CHECK(protocol.what().find("somebody speaks protocol version 2") != std::string::npos);
  CHECK(protocol.what().find("node a speaks 1") != std::string::npos);
  hello = good_hello();
  hello.set_cluster("other");
  const v1::Failure cluster = one.ask(*runtime, hello).failure();
  CHECK(schemas::from_wire(cluster).code == Code::invalid_argument);
  CHECK(cluster.what().find("\"other\"") != std::string::npos);
  CHECK(cluster.what().find("\"test\"") != std::string::npos);
  hello = good_hello();
  hello.set_role("decode");
  CHECK(schemas::from_wire(one.ask(*runtime, hello).failure()).code == Code::not_found);
}

TEST_CASE("who has no certificate of the cluster's authority gets no answer") {
  OneNode one;
  {
    auto member = *Runtime::start(tls_of(certificates(), "b"));
    CHECK(can_connect(*member, one.node->port()));
  }
  {
    const launch::TemporaryFolder foreign;
    REQUIRE(launch::make_certificates(foreign.path(), "test", {"b"}).ok());
    auto stranger = *Runtime::start(tls_of(foreign.path(), "b"));
    CHECK_FALSE(can_connect(*stranger, one.node->port()));
    // Trusting the cluster's authority does not help without its signature.
    TlsFiles mixed = tls_of(foreign.path(), "b");
    mixed.ca_path = tls_of(certificates(), "b").ca_path;
    auto pretender = *Runtime::start(mixed);
    CHECK_FALSE(can_connect(*pretender, one.node->port()));
  }
  struct Anonymous : caf::actor_system_config {
    Anonymous() {
      add_message_types<caf::id_block::troupe>();
      load<caf::io::middleman>();
      load<caf::openssl::manager>();
    }
  } config;
  caf::actor_system system(config);
  CHECK_FALSE(caf::openssl::remote_actor<NodeActor>(system, "127.0.0.1", one.node->port()));
  CHECK_FALSE(system.middleman().remote_actor<NodeActor>("127.0.0.1", one.node->port()));
}

TEST_CASE("a node without its certificate files does not start") {
  TlsFiles tls = tls_of(certificates(), "a");
  for (std::string TlsFiles::*path : {&TlsFiles::key_path, &TlsFiles::ca_path}) {
    TlsFiles lacking = tls;
    lacking.*path = "/nonexistent/file.pem";
    const auto refused = Runtime::start(lacking);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::failed_precondition);
    CHECK(refused.error().what.find("/nonexistent/file.pem") != std::string::npos);
    lacking.*path = "";
    CHECK_FALSE(Runtime::start(lacking).ok());
  }
}
