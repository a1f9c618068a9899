#include "actors/metric_table.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/concat.hpp"
#include "base/defect.hpp"

namespace troupe::actors {
namespace {

using enum MetricKind;

constexpr MetricInfo metric_rows[] = {
    {v1::METRIC_CPU_US, counter, "cpu_seconds", "CPU time of the process, user and system"},
    {v1::METRIC_MEMORY_BYTES, gauge, "memory_bytes", "memory that the process has resident"},
    {v1::METRIC_START_WALL_US, gauge, "start_time_seconds", "when the process started, since 1970"},
    {v1::METRIC_SUBSCRIBERS, gauge, "subscribers", "who is told of these metrics"},
    {v1::METRIC_UPDATES_SENT, counter, "updates_sent", "messages to subscribers"},
    {v1::METRIC_PREPARED_REQUESTS, counter, "prepared_requests", "requests that a front prepared"},
    {v1::METRIC_PREPARED_TOKENS, counter, "prepared_tokens", "prompt tokens of those"},
    {v1::METRIC_REFUSED_REQUESTS, counter, "refused_requests", "requests that a front refused"},
    {v1::METRIC_PLACEMENTS, counter, "placements", "requests that a router placed, retries too"},
    {v1::METRIC_SPLIT_PLACEMENTS, counter, "split_placements", "placements with a prefill worker"},
    {v1::METRIC_REFUSED_PLACEMENTS, counter, "refused_placements", "requests without a place"},
    {v1::METRIC_BOOKINGS, gauge, "bookings", "placements whose requests have not ended"},
    {v1::METRIC_KNOWN_BLOCKS, gauge, "known_blocks", "different KV blocks that a router knows of"},
    {v1::METRIC_KNOWN_WORKERS, gauge, "known_workers", "workers that a router knows of"},
    {v1::METRIC_STEPS, counter, "steps", "steps of the engine"},
    {v1::METRIC_PREFILL_TOKENS, counter, "prefill_tokens", "prompt tokens computed"},
    {v1::METRIC_DECODE_TOKENS, counter, "decode_tokens", "tokens drawn"},
    {v1::METRIC_PROMPT_TOKENS, counter, "prompt_tokens", "tokens of the sequences admitted"},
    {v1::METRIC_CACHED_TOKENS, counter, "cached_tokens", "of those, found in KV blocks at hand"},
    {v1::METRIC_DRAFTED_TOKENS, counter, "drafted_tokens", "tokens guessed ahead and verified"},
    {v1::METRIC_ACCEPTED_TOKENS, counter, "accepted_tokens", "guesses that were right"},
    {v1::METRIC_PREEMPTIONS, counter, "preemptions", "sequences that gave their pages up"},
    {v1::METRIC_WAITING_SEQUENCES, gauge, "waiting_sequences", "admitted and not running"},
    {v1::METRIC_RUNNING_SEQUENCES, gauge, "running_sequences", "with a place in the steps"},
    {v1::METRIC_TRANSFER_SESSIONS, gauge, "transfer_sessions", "hand-overs under way, both ends"},
    {v1::METRIC_DEVICE_BLOCKS, gauge, "device_blocks", "KV blocks that the device has room for"},
    {v1::METRIC_DEVICE_BLOCKS_FREE, gauge, "device_blocks_free", "empty, or only kept for reuse"},
    {v1::METRIC_DEVICE_BLOCKS_INDEXED, gauge, "device_blocks_indexed", "full, found by their name"},
    {v1::METRIC_CHOICES_STARTED, counter, "choices_started", "answers begun, retries too"},
    {v1::METRIC_CHOICES_FINISHED, counter, "choices_finished", "ended by a stop or the length"},
    {v1::METRIC_CHOICES_CANCELLED, counter, "choices_cancelled", "ended by their client"},
    {v1::METRIC_CHOICES_FAILED, counter, "choices_failed", "ended by an error"},
    {v1::METRIC_PREFILLS_STARTED, counter, "prefills_started", "prompts taken for other workers"},
    {v1::METRIC_PREFILL_CHUNKS, counter, "prefill_chunks", "steps that filled blocks of those"},
    {v1::METRIC_PREFILLS_DONE, counter, "prefills_done", "of those, computed to their end"},
    {v1::METRIC_HANDOVERS, counter, "handovers", "hand-overs that brought all blocks"},
    {v1::METRIC_FAILED_HANDOVERS, counter, "failed_handovers", "hand-overs that fell short"},
    {v1::METRIC_MOVED_BLOCKS, counter, "moved_blocks", "KV blocks read from other workers"},
    {v1::METRIC_READ_BYTES_SAME_PROCESS, counter, "read_same_process_bytes", "KV read, no copy"},
    {v1::METRIC_READ_BYTES_SHARED_MEMORY, counter, "read_shared_memory_bytes",
     "KV read over shared memory"},
    {v1::METRIC_READ_BYTES_TCP, counter, "read_tcp_bytes", "KV read over TCP"},
    {v1::METRIC_FAILED_READS, counter, "failed_reads", "reads that ended with an error"},
    {v1::METRIC_BAD_CHECKSUMS, counter, "bad_checksums", "blocks read and thrown away"},
    {v1::METRIC_SERVED_BYTES_TCP, counter, "served_tcp_bytes", "KV sent to readers over TCP"},
    {v1::METRIC_CHOICES_MOVED, counter, "choices_moved", "sent on to another worker"},
    {v1::METRIC_FETCHED_BLOCKS, counter, "fetched_blocks", "KV blocks read from stores"},
    {v1::METRIC_STORE_BLOCKS, gauge, "store_blocks", "KV blocks that a store can give out"},
    {v1::METRIC_STORE_BLOCKS_TOTAL, gauge, "store_blocks_max", "KV blocks that it has room for"},
    {v1::METRIC_STORE_BLOCK_BYTES, gauge, "store_block_bytes", "size of one; 0: not known yet"},
    {v1::METRIC_STORE_HITS, counter, "store_hits", "blocks that a store gave to readers"},
    {v1::METRIC_STORE_MISSES, counter, "store_misses", "blocks that it was asked for in vain"},
    {v1::METRIC_STORE_STORED, counter, "store_stored", "blocks that it took in"},
    {v1::METRIC_STORE_EVICTED, counter, "store_evicted", "blocks that made room for others"},
    {v1::METRIC_STORE_REFUSED, counter, "store_refused", "blocks that it made no room for"},
    {v1::METRIC_STORE_CORRUPT, counter, "store_corrupt", "blocks that were found damaged"},
    {v1::METRIC_DRAFT_QUESTIONS, counter, "draft_questions", "what comes next, asked by workers"},
    {v1::METRIC_DRAFT_ANSWERS, counter, "draft_answers", "of those, answered with tokens"},
    {v1::METRIC_DRAFT_LESSONS, counter, "draft_lessons", "texts that a draft actor was taught"},
    {v1::METRIC_DRAFT_INDEX_TOKENS, gauge, "draft_index_tokens", "tokens that it knows"},
    {v1::METRIC_DRAFT_INDEX_BYTES, gauge, "draft_index_bytes", "memory that they take"},
    {v1::METRIC_STORE_DISK_BLOCKS, gauge, "store_disk_blocks", "KV blocks that its disk holds"},
    {v1::METRIC_STORE_DISK_BYTES, gauge, "store_disk_bytes", "what its segment files take"},
    {v1::METRIC_STORE_DISK_BYTES_MAX, gauge, "store_disk_bytes_max", "what they may; 0: no disk"},
    {v1::METRIC_STORE_DISK_WAITING, gauge, "store_disk_waiting", "blocks that are to be written"},
    {v1::METRIC_STORE_DISK_READ, counter, "store_disk_read", "blocks that came back from disk"},
    {v1::METRIC_STORE_DISK_WRITTEN, counter, "store_disk_written", "blocks that went there"},
    {v1::METRIC_STORE_DISK_DROPPED, counter, "store_disk_dropped", "blocks of segments that went"},
    {v1::METRIC_STORE_DISK_CORRUPT, counter, "store_disk_corrupt", "blocks found damaged there"},
    {v1::METRIC_STORE_DISK_FAILED, counter, "store_disk_failed", "reads and writes that failed"},
    {v1::METRIC_DEVICE_BLOCKS_PINNED, gauge, "device_blocks_pinned", "kept for a time, as asked"},
    {v1::METRIC_REFUSED_CONNECTIONS, counter, "refused_connections",
     "connections that a data port turned away"},
    {v1::METRIC_LARGEST_MESSAGE_BYTES, gauge, "largest_message_bytes",
     "the largest message that it sent to another process"},
};

constexpr DistributionInfo distribution_rows[] = {
    {v1::DISTRIBUTION_PREPARE, "prepare_seconds", "rendering, tokenizing and naming a prompt"},
    {v1::DISTRIBUTION_PLACEMENT, "placement_seconds", "choosing workers for a request"},
    {v1::DISTRIBUTION_QUEUE, "queue_seconds", "from the start of a choice to its first step"},
    {v1::DISTRIBUTION_PREFILL, "prefill_seconds", "a prompt on a prefill worker, queue included"},
    {v1::DISTRIBUTION_HANDOVER, "handover_seconds", "from the first block announced to the last"},
    {v1::DISTRIBUTION_TTFT, "ttft_seconds", "from the start of a choice to its first token"},
    {v1::DISTRIBUTION_ITL, "itl_seconds", "between tokens; those of one step share their time"},
    {v1::DISTRIBUTION_DECODE, "decode_seconds", "from the first token of a choice to its end"},
    {v1::DISTRIBUTION_STEP, "step_seconds", "one step of the engine, queueing for it included"},
};

static_assert(std::size(metric_rows) + 1 == v1::Metric_ARRAYSIZE, "a row for each metric");
static_assert(std::size(distribution_rows) + 1 == v1::Distribution_ARRAYSIZE, "a row for each");

constexpr const char* stage_names[] = {
    "none",    "received",  "prepared",         "placed",        "prefill_started", "prefill_done",
    "started", "scheduled", "transfer_started", "transfer_done", "first_token",     "done"};
static_assert(std::size(stage_names) == v1::Stage_ARRAYSIZE, "a name for each stage");

}  // namespace

std::span<const MetricInfo> metric_table() {
  return metric_rows;
}

std::span<const DistributionInfo> distribution_table() {
  return distribution_rows;
}

const MetricInfo& info(v1::Metric metric) {
  const auto row = static_cast<size_t>(metric) - 1;
  if (row >= std::size(metric_rows)) defect("a metric without a row");
  return metric_rows[row];
}

const DistributionInfo& info(v1::Distribution distribution) {
  const auto row = static_cast<size_t>(distribution) - 1;
  if (row >= std::size(distribution_rows)) defect("a distribution without a row");
  return distribution_rows[row];
}

double scale(v1::Metric metric) {
  return std::string_view(info(metric).name).ends_with("_seconds") ? 1e-6 : 1.0;
}

std::string exported_name(v1::Metric metric) {
  const MetricInfo& row = info(metric);
  return concat("troupe_", row.name, row.kind == counter ? "_total" : "");
}

std::string exported_name(v1::Distribution distribution) {
  return concat("troupe_", info(distribution).name);
}

const char* name(v1::Stage stage) {
  const auto at = static_cast<size_t>(stage);
  return at < std::size(stage_names) ? stage_names[at] : stage_names[0];
}

}  // namespace troupe::actors
