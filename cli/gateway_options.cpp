#include "cli/gateway_options.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/settings.hpp"
#include "cli/flags.hpp"

namespace troupe::cli {
namespace {

Status add_setting_key(gateway::KeyTable& keys) {
  const auto key = setting("TROUPE_API_KEY");
  if (!key) return {};
  if (auto added = keys.add(*key); !added) {
    return error(added.error().code, "TROUPE_API_KEY: " + added.error().what, added.error().hint);
  }
  return {};
}

Status read_keys(const GatewayFlags& flags, gateway::KeyTable& keys) {
  if (!flags.key.empty()) {
    if (auto added = keys.add(flags.key); !added) {
      return error(added.error().code, "--api-key: " + added.error().what, added.error().hint);
    }
  }
  if (!flags.key_file.empty()) TROUPE_TRY(gateway::read_key_file(flags.key_file, {}, keys));
  return add_setting_key(keys);
}

const v1::Manifest::Process* process_of(const launch::NodeStart& start) {
  for (const v1::Manifest::Process& process : start.spec.roles()) {
    const bool is_it =
        process.name() == start.process.name ||
        (process.count() > 1 && start.process.name.starts_with(process.name() + "-"));
    if (is_it) return &process;
  }
  return nullptr;
}

}  // namespace

void add_gateway_flags(CLI::App& command, GatewayFlags& flags) {
  add_text(command, "--listen", flags.listen,
           "serve HTTP at ADDRESS:PORT, such as 127.0.0.1:8080; without a key only on loopback "
           "(default: no HTTP)");
  add_text(command, "--api-key", flags.key,
           "a key that requests must give; others on this machine see it in the list of processes, "
           "so better --api-key-file or TROUPE_API_KEY (default: none)");
  add_text(command, "--api-key-file", flags.key_file,
           "a file with a key a line, that nobody else may read (default: none)");
  add_text(command, "--tls-certificate", flags.certificate_file,
           "PEM file with the certificate of HTTPS and its chain (default: plain HTTP)");
  add_text(command, "--tls-key", flags.key_of_certificate,
           "PEM file with the key of --tls-certificate (default: none)");
  command
      .add_option("--allowed-host", flags.hosts,
                  "a name that the Host header may give beside loopback's; may be given several "
                  "times (default: any with a key, none without)")
      ->allow_extra_args(false);
  command
      .add_option("--allowed-origin", flags.origins,
                  "an origin of web pages that may ask, such as https://example.org; may be given "
                  "several times (default: none)")
      ->allow_extra_args(false);
}

Result<std::optional<gateway::GatewayOptions>> gateway_options(const GatewayFlags& flags) {
  if (flags.listen.empty()) {
    const bool is_lost = !flags.key.empty() || !flags.key_file.empty() ||
                         !flags.certificate_file.empty() || !flags.key_of_certificate.empty() ||
                         !flags.hosts.empty() || !flags.origins.empty();
    if (!is_lost) return std::optional<gateway::GatewayOptions>();
    return error(Code::invalid_argument, "a flag of the HTTP server without --listen",
                 "give --listen 127.0.0.1:8080 too");
  }
  gateway::GatewayOptions options;
  TROUPE_TRY(gateway::parse_listen(flags.listen, options.server));
  TROUPE_TRY(read_keys(flags, options.access.keys));
  options.server.certificate_file = flags.certificate_file;
  options.server.key_file = flags.key_of_certificate;
  options.access.allowed_hosts = flags.hosts;
  options.access.allowed_origins = flags.origins;
  TROUPE_TRY(gateway::check_listen(options.server.address, options.access.keys));
  return std::optional(std::move(options));
}

Result<std::optional<gateway::GatewayOptions>> gateway_options(const launch::NodeStart& start) {
  const v1::Manifest::Process* process = process_of(start);
  if (process == nullptr || !start.process.plays("gateway")) {
    return std::optional<gateway::GatewayOptions>();
  }
  gateway::GatewayOptions options;
  TROUPE_TRY(gateway::parse_listen(process->listen(), options.server));
  std::vector<std::string> tenants;
  for (const v1::Manifest::Tenant& tenant : start.spec.tenants()) {
    tenants.push_back(tenant.name());
    options.tenants[tenant.name()] = {tenant.requests_per_minute(), tenant.tokens_per_minute(),
                                      tenant.running_max()};
  }
  if (!tenants.empty()) tenants.push_back("default");
  if (!process->keys_path().empty()) {
    TROUPE_TRY(gateway::read_key_file(process->keys_path(), tenants, options.access.keys));
  }
  TROUPE_TRY(add_setting_key(options.access.keys));
  options.server.certificate_file = process->tls_certificate_path();
  options.server.key_file = process->tls_key_path();
  options.access.allowed_hosts.assign(process->allowed_hosts().begin(),
                                      process->allowed_hosts().end());
  options.access.allowed_origins.assign(process->allowed_origins().begin(),
                                        process->allowed_origins().end());
  TROUPE_TRY(gateway::check_listen(options.server.address, options.access.keys));
  return std::optional(std::move(options));
}

actors::ClientOptions watcher_of(const actors::NodeOptions& node, const std::string& host,
                                 uint16_t port) {
  actors::ClientOptions options;
  options.cluster = node.cluster;
  options.directory_host = host;
  options.directory_port = port;
  options.tls = node.tls;
  options.name = node.name + "-metrics";
  return options;
}

}  // namespace troupe::cli
