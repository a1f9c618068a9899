#include "library/local_cluster.hpp"

#include "base/concat.hpp"
#include "launch/certificates.hpp"
#include "launch/cluster.hpp"

namespace troupe::library {

Result<LocalCluster> local_cluster(const std::string& name) {
  TROUPE_ASSIGN(const launch::ClusterState state, launch::status(name));
  if (state.is_stale) {
    return error(Code::unavailable,
                 concat("cluster ", state.name, " is not running: its supervisor died"),
                 concat("troupe down ", state.name, " tidies up; then start it again"));
  }
  const auto files = launch::certificate_files(state.certificates, "client");
  LocalCluster cluster;
  cluster.client.cluster = state.name;
  cluster.client.directory_host = state.directory_host;
  cluster.client.directory_port = state.directory_port;
  cluster.client.tls = {files.certificate, files.key, files.authority};
  cluster.supervisor = state.supervisor;
  return cluster;
}

}  // namespace troupe::library
