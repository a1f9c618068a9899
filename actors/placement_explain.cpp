// A decision of the router in words, for --explain.
#include <algorithm>
#include <array>
#include <iomanip>

#include "actors/placement.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

std::string ms(double us) {
  return concat(std::fixed, std::setprecision(1), us / 1000, " ms");
}

// "2 of 5 prompt blocks cached (1 in memory, 1 on disk)": only tiers that hold some are named.
std::string cached(const Candidate& candidate, uint32_t prompt_blocks) {
  if (prompt_blocks == 0) return "the prompt fills no block";
  constexpr const char* places[] = {"on the device", "in memory", "on disk"};
  static_assert(std::size(places) == kv::num_tiers);
  std::string tiers;
  for (size_t i = 0; i < kv::num_tiers; ++i) {
    if (candidate.matched_by_tier[i] == 0) continue;
    tiers += concat(tiers.empty() ? " (" : ", ", candidate.matched_by_tier[i], " ", places[i]);
  }
  return concat(candidate.matched_blocks, " of ", prompt_blocks, " prompt blocks cached",
                tiers.empty() ? "" : tiers + ")");
}

std::string why(const Candidate& candidate, const std::vector<Candidate>& all) {
  if (!candidate.refused.empty()) return concat("not possible: ", candidate.refused);
  size_t possible = 0;
  size_t as_good = 0;
  double lowest = candidate.score_us();
  for (const Candidate& other : all) {
    if (other.is_prefill != candidate.is_prefill || !other.refused.empty()) continue;
    ++possible;
    as_good += other.score_us() <= candidate.score_us() ? 1 : 0;
    lowest = std::min(lowest, other.score_us());
  }
  if (candidate.chosen && possible == 1) return "chosen: the only one possible";
  if (candidate.chosen && as_good > 1) return "chosen: equals take turns";
  if (candidate.chosen) return "chosen: the lowest cost";
  if (possible == 1) return "not needed";
  return concat("not chosen: costs ", ms(candidate.score_us() - lowest), " more than the lowest");
}

}  // namespace

std::string explain(const Decision& decision) {
  std::string text = concat("decode on ", decision.decode_worker, ", prefill on ",
                            decision.prefill_worker.value_or(decision.decode_worker),
                            "; first token predicted after ", ms(decision.predicted_us), "\n");
  for (const Candidate& candidate : decision.candidates) {
    text +=
        concat(candidate.chosen ? "* " : "  ", candidate.is_prefill ? "prefill on " : "decode on ",
               candidate.worker, ": ", why(candidate, decision.candidates), "\n");
    if (!candidate.refused.empty()) continue;
    text += concat("    ", cached(candidate, decision.prompt_blocks), "; cost ",
                   ms(candidate.score_us()), " = queue ", ms(candidate.queue_us), " + prefill ",
                   ms(candidate.prefill_us), " + fetch ", ms(candidate.fetch_us), " + capacity ",
                   ms(candidate.price_us), "\n");
    if (!candidate.fetch_source.empty()) {
      text += concat("    reads up to block ", candidate.fetch_end, " from ",
                     candidate.fetch_source, "\n");
    }
  }
  return text +
         "queue: work that comes first; prefill: computing the uncached prompt; fetch: reading its "
         "blocks;\ncapacity: what this costs others (slower steps, cached blocks that make room)";
}

}  // namespace troupe::actors
