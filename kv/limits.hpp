// What the KV bookkeeping accepts at most, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::kv::limits {

/// Workers that one cluster index follows.
inline constexpr size_t workers_max = 4096;
/// (block, worker) pairs that one cluster index keeps: about 36 bytes each, so 600 MiB.
inline constexpr size_t residences_max = size_t{16} << 20;
/// Events that a worker keeps for subscribers that are slightly behind: about 2 MiB.
inline constexpr size_t events_kept_max = 65536;
/// Blocks of a worker that are pinned because somebody asked for it: at most one in this many of
/// its pool's. Beyond it a tenant with fewer pins takes those of the one with the most, then the
/// newer pin those that end sooner; else the new one is not granted.
inline constexpr uint32_t pinned_share = 4;

/// Pages of a store that a tenant keeps however much others want: one in this many of all. Who has
/// as many makes room with its own, and for others before all who have less.
inline constexpr uint32_t tenant_store_share = 2;

/// Tokens of all prompts whose blocks' names a front, or a worker, remembers: 17 MiB.
inline constexpr size_t memo_tokens_max = size_t{4} << 20;
/// Prompts of fewer tokens are named anew: it takes as long as looking.
inline constexpr size_t memo_prompt_tokens_min = 1024;
/// Prompts that are remembered.
inline constexpr size_t memo_prompts_max = 256;

/// Layer groups of a model, each with pages of its own; beyond it groups have more layers.
inline constexpr uint32_t layer_groups_max = 8;

/// A block on disk; a larger one stays in memory.
inline constexpr uint64_t disk_block_bytes_max = uint64_t{1} << 30;
/// Records of one segment file.
inline constexpr uint32_t segment_records_max = 65535;
/// A segment file: a 32nd of the disk tier, and no more than this.
inline constexpr uint64_t segment_bytes_max = uint64_t{1} << 30;
inline constexpr uint64_t segment_share = 32;
/// Segment files of one folder; those beyond, the oldest, are not looked at and go first.
inline constexpr size_t segments_max = 65536;
/// Blocks that are being written to disk at once; the others wait in memory.
inline constexpr size_t disk_writes_max = 4;
/// Blocks that are being read from disk at once; one more is a miss.
inline constexpr size_t disk_reads_max = 4096;
/// Threads that read from disk: blocks that are read at the same time; the others wait.
inline constexpr int disk_readers = 4;
/// Jobs that wait for one of the disk's threads.
inline constexpr size_t disk_queue_max = 8192;
/// Segment files that are open at once.
inline constexpr size_t disk_files_max = 128;
/// Damaged blocks that are named when a folder is verified; the others are counted.
inline constexpr size_t problems_max = 100;
/// After a write that failed (a full disk) nothing is written for this long.
inline constexpr int64_t disk_pause_us = 5'000'000;
/// The log hears of such writes at most this often.
inline constexpr int64_t disk_report_us = 60'000'000;

}  // namespace troupe::kv::limits
