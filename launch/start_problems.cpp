#include "launch/start_problems.hpp"

#include "launch/certificates.hpp"
#include "launch/machine.hpp"

namespace troupe::launch {

std::vector<std::string> certified_nodes(const LaunchPlan& plan) {
  std::vector<std::string> nodes = {"client"};
  for (const PlannedProcess& process : plan.processes) {
    if (process.is_here) nodes.push_back(process.name);
  }
  return nodes;
}

Status check_certificates(const Manifest& manifest, const LaunchPlan& plan) {
  const std::string& given = manifest.spec.security().certificates_path();
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
