#include "cli/join_options.hpp"

#include <algorithm>
#include <charconv>

#include "base/concat.hpp"
#include "cli/flags.hpp"
#include "cli/restart.hpp"
#include "launch/certificates.hpp"
#include "launch/nearest.hpp"
#include "launch/salt_secret.hpp"
#include "transport/environment.hpp"

namespace troupe::cli {
namespace {

/// A second directory would be a second cluster.
const std::vector<std::string> joining_roles = {"router", "front", "prefill", "decode", "draft"};

Status split_address(const std::string& text, std::string& host, uint16_t& port) {
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, port);
    if (failure == std::errc() && stop == end && port != 0) {
      host = text.substr(0, colon);
      return {};
    }
  }
  return error(Code::invalid_argument, flag_is("--join", text),
               "expected HOST:PORT of the directory, as troupe status shows it");
}

bool works(const JoinFlags& flags) {
  return std::ranges::any_of(
      flags.roles, [](const std::string& role) { return role == "prefill" || role == "decode"; });
}

}  // namespace

void add_join_flags(CLI::App& command, JoinFlags& flags) {
  add_text(command, "--name", flags.name, "the process's name, as in its certificate (required)");
  add_text(command, "--join", flags.directory,
           "HOST:PORT of the directory of a running cluster (default: none)");
  command
      .add_option_function<std::vector<std::string>>(
          "--role",
          [&flags](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              if (std::ranges::find(joining_roles, word) == joining_roles.end()) {
                throw FlagError(troupe::error(Code::invalid_argument, flag_is("--role", word),
                                              concat("expected ", launch::list_of(joining_roles),
                                                     launch::did_you_mean(word, joining_roles))));
              }
              flags.roles.push_back(word);
            }
          },
          "router, front, prefill, decode or draft; may be given several times (default: none)")
      ->allow_extra_args(false)
      ->type_name("WORD");
  add_text(command, "--certs", flags.certificates,
           "folder with ca.pem, NAME.pem and NAME-key.pem, made by troupe certs (default: none)");
  add_text(command, "--cluster", flags.model.cluster,
           "the cluster's name (default: the one that the authority was made for)");
  add_text(command, "--model", flags.model.model_path,
           "the GGUF file or the folder of the cluster's model (default: none)");
  add_text(command, "--model-name", flags.model_name,
           "what clients call it (default: the file's name)");
  add_model_options(command, flags.model);
  add_text(command, "--address", flags.address,
           "where this process listens and is reached by the others (default 127.0.0.1)");
  add_text(command, "--data-address", flags.data_address,
           "the network that carries KV blocks (default: --address)");
  add_whole(command, "--port", flags.port, {0, 65535}, "7001",
            "control port, 0 to 65535; 0: a free one (default 0)");
  command.add_flag("--no-shared-memory", flags.no_shared_memory,
                   "move no KV blocks over shared memory (default off)");
  command.add_flag("--no-tcp", flags.no_tcp, "move no KV blocks over TCP (default off)");
}

Status check_join(const JoinFlags& flags) {
  const auto missing = [](const char* flag, const char* wanted) {
    return error(Code::invalid_argument, concat(flag, " is missing"), concat("expected ", wanted));
  };
  if (flags.roles.empty()) return missing("--role", "router, front, prefill, decode or draft");
  if (flags.certificates.empty()) {
    return missing("--certs", "a folder with a certificate for this node: troupe certs issue");
  }
  const bool has_front = std::ranges::find(flags.roles, "front") != flags.roles.end();
  if (flags.model.model_path.empty() && (works(flags) || has_front)) {
    return missing("--model", "the GGUF file that the cluster serves");
  }
  if (flags.no_shared_memory && flags.no_tcp) {
    return error(Code::invalid_argument, "--no-shared-memory and --no-tcp leave no way for blocks",
                 "expected at most one of them");
  }
  return {};
}

Result<actors::NodeOptions> join_options(const JoinFlags& flags) {
  actors::NodeOptions options;
  TROUPE_TRY(split_address(flags.directory, options.directory_host, options.directory_port));
  TROUPE_TRY(launch::verify_certificate(flags.certificates, flags.name));
  options.cluster = flags.model.cluster;
  if (options.cluster.empty()) {
    TROUPE_ASSIGN(options.cluster, launch::authority_cluster(flags.certificates));
  }
  const auto files = launch::certificate_files(flags.certificates, flags.name);
  options.tls = {files.certificate, files.key, files.authority};
  if (works(flags) || std::ranges::find(flags.roles, "front") != flags.roles.end()) {
    TROUPE_ASSIGN(options.salt_secret, launch::read_salt_secret(flags.certificates));
  }
  options.name = flags.name;
  options.roles = flags.roles;
  options.host = flags.address;
  options.port = flags.port;
  options.model_path = flags.model.model_path;
  options.model_name =
      flags.model_name.empty() ? model_name_of(flags.model.model_path) : flags.model_name;
  options.worker = worker_options(flags.model);
  options.worker.data_address = flags.data_address.empty() ? flags.address : flags.data_address;
  options.worker.shared_memory = !flags.no_shared_memory;
  options.worker.tcp = !flags.no_tcp;
  return options;
}

void restart_with_environment() {
  if (transport::missing_environment().empty()) return;
  // If that fails, the transport says which variables are missing.
  restart(transport::required_environment());
}

}  // namespace troupe::cli
