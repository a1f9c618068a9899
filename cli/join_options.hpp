// troupe node --join: a process that no manifest names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "actors/node.hpp"
#include "base/result.hpp"
#include "cli/options.hpp"

namespace troupe::cli {

struct JoinFlags {
  std::string directory;     ///< HOST:PORT
  std::string name;          ///< as in its certificate
  std::string certificates;  ///< folder with ca.pem, NAME.pem and NAME-key.pem
  std::vector<std::string> roles;
  ClusterOptions model;  ///< `cluster` may be empty: the authority knows it
  std::string model_name;
  std::string address = "127.0.0.1";
  std::string data_address;  ///< empty: the same
  uint16_t port = 0;
  bool no_shared_memory = false;
  bool no_tcp = false;
};
void add_join_flags(CLI::App& command, JoinFlags& flags);

/// What is missing or contradicts itself, for a node that joins.
Status check_join(const JoinFlags& flags);

/// Errors: a directory that is not HOST:PORT, a role that cannot join, certificates that do not
/// verify.
Result<actors::NodeOptions> join_options(const JoinFlags& flags);

/// Starts this program anew unless its environment is what UCX must find when it is loaded. Call it
/// before anything else.
void restart_with_environment();

}  // namespace troupe::cli
