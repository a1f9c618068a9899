// What troupe monitor --once --json prints: the cluster as one JSON object.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/monitor_model.hpp"

namespace troupe::cli {

/// Metrics under the names of actors/metric_table.hpp, times in seconds, requests newest first.
nlohmann::ordered_json to_json(const MonitorModel& model);

}  // namespace troupe::cli
