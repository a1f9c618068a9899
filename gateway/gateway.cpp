#include "gateway/gateway.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <mutex>
#include <thread>

#include "actors/client.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "gateway/cluster_metrics.hpp"
#include "gateway/service.hpp"
#include "gateway/watcher.hpp"

namespace troupe::gateway {

struct Gateway::Impl {
  /// The client as long as there is one: the last answers of its requests come after its end, on
  /// other threads.
  struct ClientSlot {
    std::mutex mutex;
    actors::Client* client = nullptr;
  };

  // In the order in which they depend on one another: the server ends first.
  std::unique_ptr<actors::Client> client;
  std::shared_ptr<ClientSlot> slot = std::make_shared<ClientSlot>();
  std::unique_ptr<Watcher> watcher;
  std::unique_ptr<ClusterMetrics> metrics;
  std::shared_ptr<Service> service;
  std::unique_ptr<HttpServer> server;

  Cast cast();
  void tell_metrics(MetricFamilies& families) const;
};

void Gateway::Impl::tell_metrics(MetricFamilies& families) const {
  const ServerCounts counts = server->counts();
  families.gauge("troupe_gateway_connections", "Open connections.");
  families.add({}, counts.connections);
  families.counter("troupe_gateway_accepted_connections_total", "Connections accepted.");
  families.add({}, counts.accepted);
  families.counter("troupe_gateway_refused_connections_total",
                   "Connections closed at once, beyond a limit.");
  families.add({}, counts.turned_away);
  families.counter("troupe_gateway_cut_off_connections_total",
                   "Connections closed for being too slow.");
  families.add({}, counts.cut_off);
  families.counter("troupe_gateway_sends_total",
                   "Writes to sockets; events of a fast stream share them.");
  families.add({}, counts.sends);
  if (metrics) metrics->tell(families);
}

Cast Gateway::Impl::cast() {
  Cast cast;
  cast.generate = [this](actors::GenerateRequest request, actors::GenerateHandlers handlers) {
    return client->generate(std::move(request), std::move(handlers));
  };
  cast.cancel = [slot = slot](uint64_t id) {
    const std::lock_guard lock(slot->mutex);
    if (slot->client != nullptr) slot->client->cancel(id);
  };
  cast.tokenize = [this](actors::GenerateRequest request, bool bare, auto done) {
    client->tokenize(std::move(request), bare, std::move(done));
  };
  cast.detokenize = [this](std::vector<int32_t> tokens, auto done) {
    client->detokenize(std::move(tokens), std::move(done));
  };
  cast.card = [this] { return watcher->card(); };
  cast.unready = [this] { return watcher->unready(); };
  cast.metrics = [this](MetricFamilies& families) { tell_metrics(families); };
  cast.later = [this](int ms, std::function<void()> run) { server->later(ms, std::move(run)); };
  return cast;
}

Gateway::Gateway() : impl_(std::make_unique<Impl>()) {}

Result<std::unique_ptr<Gateway>> Gateway::start(GatewayOptions options, actors::Node& node) {
  TROUPE_TRY(check_listen(options.server.address, options.access.keys));
  const size_t num_keys = options.access.keys.size();
  std::unique_ptr<Gateway> gateway(new Gateway);
  Impl& impl = *gateway->impl_;
  TROUPE_ASSIGN(impl.client, actors::Client::embedded(node));
  impl.slot->client = impl.client.get();
  impl.watcher = std::make_unique<Watcher>(*impl.client);
  if (options.cluster) {
    TROUPE_ASSIGN(impl.metrics, ClusterMetrics::attach(*options.cluster));
  }
  impl.service = std::make_shared<Service>(std::move(options.access), impl.cast());
  for (const auto& [tenant, limits] : options.tenants) impl.service->tenants().set(tenant, limits);
  TROUPE_ASSIGN(impl.server, HttpServer::start(options.server, handler_of(impl.service)));
  log_info("gateway", concat("listens on ", options.server.address, ":", impl.server->port(),
                             num_keys == 0 ? ", without keys" : concat(", ", num_keys, " keys")));
  return gateway;
}

Gateway::~Gateway() {
  impl_->server.reset();
  const std::lock_guard lock(impl_->slot->mutex);
  impl_->slot->client = nullptr;
}

uint16_t Gateway::port() const {
  return impl_->server->port();
}

bool Gateway::drain(int64_t timeout_ms) {
  impl_->service->begin_drain();
  impl_->server->end_keep_alive();
  const TimeUs until = now_us() + timeout_ms * 1000;
  while (impl_->server->counts().exchanges > 0) {
    if (now_us() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

Status parse_listen(const std::string& text, ServerOptions& options) {
  const Error bad =
      error(Code::invalid_argument, concat("\"", text, "\" is no address to listen on"),
            "ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  const size_t colon = text.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  } else if (address.find(':') != std::string::npos) {
    return bad;
  }
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const char* end = port.data() + port.size();
  const auto [stop, failure] = std::from_chars(port.data(), end, options.port);
  if (failure != std::errc() || stop != end || address.empty()) return bad;
  options.address = address == "localhost" ? "127.0.0.1" : address;
  return {};
}

Status read_key_file(const std::string& path, const std::vector<std::string>& tenants,
                     KeyTable& keys) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return error(Code::not_found, concat("there is no key file ", path));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return error(Code::failed_precondition, concat("others may read the key file ", path),
                 "chmod 600");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(limits::key_file_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > limits::key_file_bytes_max) {
    return error(Code::invalid_argument, concat("the key file ", path, " is too long"),
                 concat("at most ", limits::key_file_bytes_max, " bytes"));
  }
  const size_t before = keys.size();
  TROUPE_TRY(keys.add_file(text, path, tenants));
  if (keys.size() == before) {
    return error(Code::invalid_argument, concat("the key file ", path, " has no key"),
                 "one key a line; troupe key makes one");
  }
  return {};
}

}  // namespace troupe::gateway
