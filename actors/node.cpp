#include "actors/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <caf/openssl/all.hpp>
#include <thread>

#include "actors/device.hpp"
#include "actors/directory.hpp"
#include "actors/draft.hpp"
#include "actors/front.hpp"
#include "actors/limits.hpp"
#include "actors/metrics_actor.hpp"
#include "actors/node_impl.hpp"
#include "actors/router.hpp"
#include "actors/tls_guard.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "cpu/pack_file.hpp"
#include "text/tokenizer_file.hpp"

namespace troupe::actors {
namespace {

/// A checkpoint's folder has its tokenizer beside the weights.
Result<text::TokenizerSpec> read_tokenizer_of(const std::string& folder) {
  TROUPE_ASSIGN(text::LoadedTokenizer loaded, text::read_tokenizer_file(folder, {}));
  return std::move(loaded.spec);
}

constexpr const char* known_roles =
    "directory, router, front, prefill, decode, draft, kv_store, gateway";

Status check_store(const NodeOptions& options) {
  const auto plays = [&options](const char* role) {
    return std::find(options.roles.begin(), options.roles.end(), role) != options.roles.end();
  };
  if (!plays("kv_store")) return {};
  if ((options.store_disk_bytes > 0) != !options.store_path.empty()) {
    return error(Code::invalid_argument,
                 concat("node ", options.name, " has ",
                        options.store_path.empty() ? "a size for its disk, but no folder"
                                                   : "a folder for its disk, but no size"),
                 "store_disk and store_path go together");
  }
  if (plays("prefill") || plays("decode")) {
    return error(Code::invalid_argument,
                 concat("node ", options.name, " computes and has the role kv_store"),
                 "a store outlives workers: give it a process of its own");
  }
  if (options.tls.empty()) {
    return error(Code::invalid_argument,
                 concat("node ", options.name, " has the role kv_store, but no network"),
                 "a store is of use to other processes only");
  }
  return {};
}

Status check_roles(const NodeOptions& options) {
  if (options.roles.empty()) {
    return error(Code::invalid_argument, concat("node ", options.name, " has no role"),
                 concat("one or more of ", known_roles));
  }
  for (const std::string& role : options.roles) {
    if (role == "directory" || role == "router" || role == "front" || role == "prefill" ||
        role == "decode" || role == "draft" || role == "kv_store" || role == "gateway") {
      continue;
    }
    return error(Code::unsupported, concat("node ", options.name, " has the role ", role),
                 concat("this release has ", known_roles));
  }
  return check_store(options);
}

}  // namespace

bool Node::Impl::has(const char* role) const {
  for (const std::string& own : options.roles) {
    if (own == role) return true;
  }
  return false;
}

Status Node::Impl::make_tokenizer() {
  if (tokenizer || model->tokenizer.tokens.empty()) return {};
  TROUPE_ASSIGN(tokenizer, text::Tokenizer::make(model->tokenizer));
  return {};
}

Status Node::Impl::start_roles() {
  auto& system = runtime->system();
  // Every process has it, and no manifest names it.
  add_role("metrics", system.spawn(metrics_actor, metrics, runtime->incarnation()));
  if (has("directory")) {
    directory_state = std::make_shared<DirectoryState>(options.cluster, options.manifest_digest,
                                                       options.limits.lease_ms * 1000);
    directory_handle = system.spawn(directory, directory_state);
    add_role("directory", directory_handle);
  }
  if (has("router")) {
    PlacementOptions placement;
    placement.prefill_blocks_min = options.prefill_blocks_min;
    add_role("router", system.spawn(router, placement, metrics));
  }
  if (has("front")) {
    TROUPE_TRY(make_tokenizer());
    auto made = Preparer::make(
        *model, options.worker.context_max, options.model_name,
        {options.limits.output_tokens_max, options.limits.request_timeout_ms}, tokenizer);
    if (!made) return made.error();
    (*made)->set_salt_secret(options.salt_secret);
    auto handle = system.spawn(front, std::shared_ptr<Preparer>(std::move(*made)), metrics);
    add_role("front", handle);
    state->member_listeners.push_back(caf::actor_cast<caf::strong_actor_ptr>(handle));
  }
  if (has("draft")) add_role("draft", system.spawn(draft, options.draft_bytes, metrics));
  if (has("prefill") || has("decode")) TROUPE_TRY(start_worker());
  if (has("kv_store")) TROUPE_TRY(start_store());
  return {};
}

Status Node::Impl::publish() {
  auto& system = runtime->system();
  uint16_t port = 0;
  if (runtime->networked()) {
    auto published = caf::openssl::publish(node_handle, options.port, options.host.c_str(), true);
    if (!published) {
      const bool is_plain = published.error() == caf::sec::cannot_open_port;
      return error(Code::unavailable,
                   concat("cannot listen on ", options.host, ":", options.port,
                          is_plain ? "" : ": " + system.render(published.error())),
                   "is the port in use, and the address one of this host?");
    }
    port = *published;
  }
  own_port = port;
  if (port != 0) TROUPE_TRY(guard_control_port(port));
  auto begin = [this, port] { state->info.set_port(port); };
  caf::anon_send(node_handle, Closure{std::make_shared<std::function<void()>>(begin)});
  caf::anon_send(node_handle, caf::tick_atom_v);
  return {};
}

Result<std::unique_ptr<Node>> Node::start(const NodeOptions& options) {
  TROUPE_TRY(check_roles(options));
  std::unique_ptr<Node> node(new Node);
  node->impl_ = std::make_unique<Impl>();
  Impl& impl = *node->impl_;
  impl.options = options;
  const bool works = impl.has("prefill") || impl.has("decode");
  if (works || impl.has("front")) {
    if (works) impl.pack = cpu::find_pack(options.model_path, options.worker.compute);
    TROUPE_ASSIGN(impl.model, model::load_model(options.model_path, read_tokenizer_of,
                                                cpu::known_digest(impl.pack)));
  }
  // UCX is configured through the environment: before any other thread may read it.
  const uint64_t incarnation = random_u64();
  if (works) TROUPE_TRY(impl.make_worker_parts(incarnation, !options.tls.empty()));
  if (impl.has("kv_store")) TROUPE_TRY(impl.make_store_parts(incarnation));
  TROUPE_ASSIGN(impl.runtime, Runtime::start(options.tls, incarnation));

  impl.state = std::make_shared<NodeState>();
  NodeState& state = *impl.state;
  state.cluster = options.cluster;
  state.manifest_digest = options.manifest_digest;
  state.directory_host = options.directory_host;
  state.directory_port = options.directory_port;
  state.connect_timeout_ms = static_cast<int>(options.limits.connect_timeout_ms);
  state.info.set_name(options.name);
  for (const std::string& role : options.roles) state.info.add_roles(role);
  state.info.set_host(options.host);
  state.info.set_incarnation(incarnation);
  state.info.set_pid(static_cast<uint32_t>(::getpid()));
  state.info.set_health("ready");
  state.info.set_model(options.model_name);
  state.info.set_device(impl.describe());
  if (works) {
    state.info.set_kv_fingerprint(impl.fingerprint);
    state.info.set_tokens_per_block(impl.pool->layout().tokens_per_block);
  }
  impl.node_handle = impl.runtime->system().spawn(node_actor, impl.state);
  TROUPE_TRY(impl.start_roles());
  TROUPE_TRY(impl.publish());
  return node;
}

Node::Impl::~Impl() {
  if (!runtime) return;
  if (own_port != 0) {
    // openssl::unpublish of CAF 0.17 does not compile.
    caf::anon_send(runtime->system().openssl_manager().actor_handle(), caf::close_atom_v, own_port);
  }
  if (worker_handle) {
    post_to_worker([close = close_worker] { close(false); });
    // The last messages (streams go elsewhere) leave before the connection does.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  for (const caf::strong_actor_ptr& handle : actors) {
    caf::anon_send_exit(caf::actor_cast<caf::actor>(handle), caf::exit_reason::user_shutdown);
  }
  if (node_handle) caf::anon_send_exit(node_handle, caf::exit_reason::user_shutdown);
  node_handle = nullptr;
  worker_handle = nullptr;
  store_handle = nullptr;
  // Whoever does its jobs tells actors of it.
  store_disk.reset();
  directory_handle = nullptr;
  actors.clear();
  if (state) {
    state->drain_role = nullptr;
    state->roles.clear();
    state->member_listeners.clear();
  }
  runtime.reset();
}

Node::Node() = default;
Node::~Node() = default;

uint16_t Node::port() const {
  return impl_->own_port;
}

bool Node::joined() const {
  const bool works = impl_->has("prefill") || impl_->has("decode") || impl_->has("kv_store");
  return impl_->state->joined && (!works || impl_->state->worker_known);
}

Status Node::wait_joined(int timeout_ms) {
  const auto refusal = [this] {
    const std::lock_guard lock(impl_->state->refusal_mutex);
    return impl_->state->refusal;
  };
  for (int waited = 0; waited < timeout_ms; waited += 10) {
    if (joined()) return {};
    const auto refused = refusal();
    if (refused && refused->code != Code::unavailable) return *refused;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!impl_->state->joined) {
    if (const auto refused = refusal()) return *refused;
    const std::lock_guard lock(impl_->state->refusal_mutex);
    const auto& failure = impl_->state->last_failure;
    return error(
        Code::timeout,
        concat("node ", impl_->options.name, " was not accepted in time by the directory at ",
               impl_->options.directory_host, ":", impl_->options.directory_port,
               failure ? concat(": ", failure->what) : std::string()),
        failure ? failure->hint : std::string());
  }
  return error(Code::timeout, concat("no router took ", impl_->options.name, " in time"));
}

bool Node::flush(int64_t timeout_ms) {
  if (!impl_->store_flush) return true;
  for (int64_t waited = 0; !impl_->flush_store(); waited += 10) {
    if (waited >= timeout_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool Node::drain(int64_t timeout_ms) {
  if (!flush(timeout_ms)) return false;
  if (!impl_->worker_handle && !impl_->store_handle) return true;
  NodeState& state = *impl_->state;
  auto begin = [shared = impl_->state] { (void)begin_drain(*shared); };
  caf::anon_send(impl_->node_handle, Closure{std::make_shared<std::function<void()>>(begin)});
  const auto is_drained = [&state] { return state.draining && state.busy == 0; };
  for (int64_t waited = 0; waited < timeout_ms && !is_drained(); waited += 10) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_drained();
}

void Node::announce_end() {
  if (impl_->directory_handle) {
    auto close = [state = impl_->directory_state] { state->close(); };
    caf::anon_send(impl_->directory_handle,
                   Closure{std::make_shared<std::function<void()>>(close)});
  }
  if (impl_->worker_handle) impl_->post_to_worker([close = impl_->close_worker] { close(true); });
  // Others ask the directory in their own rhythm; whoever holds none has no reason to stay.
  if (impl_->directory_handle) {
    std::this_thread::sleep_for(std::chrono::milliseconds(limits::farewell_ms));
  }
}

std::string Node::describe() const {
  return impl_->describe();
}

}  // namespace troupe::actors
