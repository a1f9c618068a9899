#include "launch/start_problems.hpp"

#include "launch/certificates.hpp"
#include "launch/machine.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::launch {

std::vector<std::string> certified_nodes(const LaunchPlan& plan) {
  std::vector<std::string> nodes = {"client"};
  for (const PlannedProcess& process : plan.processes) {
    if (process.is_here) nodes.push_back(process.name);
  }
  return nodes;
}

Status check_certificates(const Manifest& manifest, const LaunchPlan& plan) {
  const v1::Manifest::Security& security = manifest.spec.security();
  const std::string& given = security.certificates_path();
  for (const PlannedProcess& process : plan.processes) {
    const bool has_secret = !given.empty() || !security.secret_path().empty();
    if (!has_secret || !process.is_here || !process.needs_secret()) continue;
    if (auto secret = salt_secret_of(security, given); !secret) return secret.error();
  }
  if (given.empty()) return {};
  for (const std::string& node : certified_nodes(plan)) {
    TROUPE_TRY(verify_certificate(given, node));
  }
  return {};
}

std::vector<std::string> start_problems(const Manifest& manifest, LaunchPlan& plan) {
  std::vector<std::string> problems;
  for (const Status& status :
       {check_memory(manifest, this_machine(), plan), check_certificates(manifest, plan)}) {
    if (!status.ok()) problems.push_back(status.error().message());
  }
  return problems;
}

}  // namespace troupe::launch
