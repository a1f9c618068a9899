// Watches a running cluster: every node tells it what it measures, as long as it is attached.
// No CAF in sight.
#pragma once

#include <functional>
#include <memory>

#include "actors/client.hpp"
#include "actors/metrics_subscriber.hpp"
#include "base/result.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/metrics.pb.h"

namespace troupe::actors {

/// Called on the monitor's own thread, one at a time. As long as a call lasts the nodes send a few
/// more messages at most, then wait.
struct MonitorHandlers {
  /// Who is there, as the directory says; a few times a second.
  std::function<void(const v1::Members&)> on_members;
  /// A message of a node: what became of it. After a gap the node is asked for everything.
  std::function<Taken(const v1::NodeInfo&, const v1::MetricsUpdate&)> on_update;
  /// The directory was never reached, for a reason that waiting does not remedy (certificates); may
  /// be empty.
  std::function<void(const Error&)> on_refused = {};
};

class Monitor {
 public:
  /// Begins to look for the directory and for what it knows. `interval_ms`: how often nodes tell.
  /// Errors: failed_precondition (certificates).
  static Result<std::unique_ptr<Monitor>> attach(const ClientOptions& options, uint32_t interval_ms,
                                                 MonitorHandlers handlers);
  /// Detaches; no handler is called any more when it returns.
  ~Monitor();

 private:
  Monitor();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::actors
