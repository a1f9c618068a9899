#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "launch/amounts.hpp"
#include "launch/plan.hpp"
#include "launch/text_table.hpp"

namespace troupe::launch {
std::string to_table(const LaunchPlan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"PROCESS", "HOST", "ROLES", "MODEL", "THREADS", "KV", "PORT"}};
  for (const PlannedProcess& process : plan.processes) {
    const uint64_t kv_bytes = std::max(process.kv_bytes, process.store_bytes);
    rows.push_back({process.name, process.host, joined(process.roles),
                    process.model.empty() ? "-" : process.model, std::to_string(process.threads),
                    kv_bytes == 0 ? "-" : format_bytes(kv_bytes),
                    process.port == 0 ? "chosen" : std::to_string(process.port)});
  }
  std::string out = concat("cluster ", plan.cluster, ", planned for host ", plan.host, "\n\n");
  out += text_table(rows);
  const bool has_more = !plan.notes.empty() || !plan.problems.empty();
  for (const std::string& note : plan.notes) out += "\nnote: " + note;
  for (const std::string& problem : plan.problems) out += "\nwould not start here: " + problem;
  return has_more ? out + "\n" : out;
}

std::string to_json(const LaunchPlan& plan) {
  using Json = nlohmann::ordered_json;
  Json out = {{"cluster", plan.cluster}, {"host", plan.host}, {"processes", Json::array()}};
  for (const PlannedProcess& process : plan.processes) {
    out["processes"].push_back({{"name", process.name},
                                {"host", process.host},
                                {"here", process.is_here},
                                {"address", process.address},
                                {"data_address", process.data_address},
                                {"roles", process.roles},
                                {"model", process.model},
                                {"model_path", process.model_path},
                                {"threads", process.threads},
                                {"kv_bytes", process.kv_bytes},
                                {"store_bytes", process.store_bytes},
                                {"store_disk_bytes", process.store_disk_bytes},
                                {"store_path", process.store_path},
                                {"port", process.port}});
  }
  out["environment"] = Json::object();
  for (const auto& [name, value] : plan.environment) out["environment"][name] = value;
  out["notes"] = plan.notes;
  out["problems"] = plan.problems;
  // Paths are bytes; JSON is text: anything that is not UTF-8 is replaced.
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace troupe::launch
