// What becomes of requests when the cable between two hosts is cut, deaf in one direction, slow or
// stalled.
#pragma once

#include <string>

#include "tests/support/two_hosts.hpp"

namespace troupe::testing {

/// The further role that tests of links need: a decode worker beside the head.
inline constexpr const char* near_decode =
    "  - {name: near, host: one, run: [decode], kv_memory: 32MiB}\n";

enum class LinkHarm { cut, one_is_not_heard, two_is_not_heard, slow, stalled };

struct LinkFault {
  std::string what;
  LinkHarm harm = LinkHarm::cut;
  int duration_ms = 0;
};

struct LinkRow {
  std::string what;
  size_t same = 0;         ///< bit for bit what an undisturbed process says
  size_t changed = 0;      ///< anything else
  size_t moved = 0;        ///< of `same`: in more than one attempt
  size_t failed = 0;       ///< ended with an error of a known kind
  size_t failed_late = 0;  ///< of those, had a token before
  std::string errors;      ///< which kinds
  int64_t last_ms = 0;     ///< from the healing of the link to the last end
  std::string left;        ///< what did not come back to idle; empty: nothing

  [[nodiscard]] std::string line() const;
};

/// Requests from clients on both hosts, for workers on both hosts: some in mid-stream, some whose
/// blocks are on their way and some that come after the harm. All of them end.
LinkRow run_link_fault(TwoHosts& hosts, Reference& reference, const LinkFault& fault);

}  // namespace troupe::testing
