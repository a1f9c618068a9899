// What computes step plans. Asynchronous from the first day: submit gives a ticket, wait gives the
// result. The CPU completes inside submit, a simulated device late, a GPU is launched ahead.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "engine/step_plan.hpp"
#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::engine {

struct Ticket {
  uint64_t step = 0;
};

/// What a backend can do; callers ask instead of knowing which one it is.
struct Capabilities {
  std::string name;         ///< "cpu/avx2"
  std::string numerics_id;  ///< part of the KV fingerprint, e.g. "cpu/2/fast"
  uint32_t vocab_size = 0;
  uint32_t context_max = 0;      ///< tokens of one sequence
  uint32_t step_tokens_max = 0;  ///< tokens of one plan
  bool launch_ahead = false;     ///< accepts InputToken::from_slot
  bool host_memory = true;       ///< pages can be read and written by the CPU
  bool checks_pages = false;     ///< refuses to read a page that another sequence wrote
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  /// Layout of a page, and which layers share one.
  [[nodiscard]] virtual const kv::KvLayout& kv_layout() const = 0;
  /// The memory that page ids index: page p lies at p * kv_layout().block_bytes(). Called once,
  /// before the first submit.
  virtual Status attach_pool(kv::Region region) = 0;

  /// Takes the plan; what it borrows must live until wait() returned. Steps complete in order.
  virtual Result<Ticket> submit(StepPlan plan) = 0;
  /// True when wait() would not block.
  [[nodiscard]] virtual bool poll(Ticket ticket) = 0;
  virtual Result<StepResult> wait(Ticket ticket) = 0;
};

}  // namespace troupe::engine
