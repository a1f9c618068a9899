// Every bound of the transport in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace troupe::transport::limits {

/// The blob that peers exchange, and its parts.
inline constexpr size_t address_bytes_max = 4096;
inline constexpr size_t worker_address_bytes_max = 1024;
inline constexpr size_t rkey_bytes_max = 256;

/// One block of a pool.
inline constexpr size_t block_bytes_max = size_t{1} << 30;

/// A piece of a block over TCP: one active message in one segment of UCX, so that UCX does not
/// gather it in a buffer of its own first.
inline constexpr uint32_t tcp_piece_bytes = 512 * 1024;
inline constexpr uint32_t tcp_piece_bytes_min = 64 * 1024;
inline constexpr uint32_t tcp_piece_bytes_max = 1024 * 1024;
/// UCX_TCP_TX_SEG_SIZE and UCX_TCP_RX_SEG_SIZE: a piece, our header and UCX's.
inline constexpr uint32_t tcp_segment_bytes = tcp_piece_bytes + 4096;
/// A piece over shared memory, between two of which other peers get their turn; where a get reads
/// it, small enough that the checksum still finds it in the cache.
inline constexpr size_t shm_piece_bytes = 256 * 1024;
/// Blocks of this size are written past the caches: those of a prompt would not fit into them.
inline constexpr size_t streamed_block_bytes_min = 256 * 1024;

/// Pieces that a source has under way to one receiver; more do not go faster.
inline constexpr uint32_t pieces_in_flight_max = 4;
/// Reads that a receiver has asked one peer for over TCP.
inline constexpr uint32_t wants_in_flight_max = 16;
/// Wants that a source queues for one receiver before it refuses.
inline constexpr size_t wants_queued_max = 64;
/// Wants that arrive in one round of progress.
inline constexpr size_t wants_arrived_max = 4096;
/// Receivers that a source keeps endpoints to.
inline constexpr size_t receivers_max = 1024;
/// Pieces read over shared memory before the other worker gets its turn.
inline constexpr int shm_pieces_per_turn = 4;

/// The system holds a connection to the data port back until its first bytes have come, or this
/// long.
inline constexpr int first_bytes_s = 2;
/// Connections that are turned away at the data port in one go, before UCX gets its turn.
inline constexpr int accepts_per_turn = 64;
/// The log has one line about those that were turned away in this time.
inline constexpr TimeUs report_interval_us = 10'000'000;
/// Starts of processes whose tickets a data port remembers; then the longest unused goes, and what
/// is unknown and no younger is refused.
inline constexpr size_t ticket_holders_max = 4096;
/// How far tickets of one process may overtake one another.
inline constexpr size_t tickets_apart_max = 256;
/// Data ports that a process can show tickets to; then the longest unused goes.
inline constexpr size_t destinations_max = 4096;

/// Reads that may wait or move at one time in one process.
inline constexpr size_t reads_max = size_t{1} << 20;

/// How long a cancelled read waits for gets that UCX has queued before its endpoint is closed by
/// force (nothing else makes UCX let go of a page).
inline constexpr TimeUs cancel_grace_us = 1'000'000;
/// After a forced close, requests end within microseconds; beyond this we stop waiting for them.
inline constexpr TimeUs close_grace_us = 1'000'000;
/// A worker is destroyed after this time without an event, or after the longer one.
inline constexpr TimeUs quiet_us = 20'000;
inline constexpr TimeUs quiet_us_max = 300'000;
/// Shutdown waits this long for closes and sends.
inline constexpr TimeUs shutdown_us = 1'000'000;
/// Busy polling after the last event, then sleep.
inline constexpr TimeUs spin_us = 50;
/// Keepalive timers run inside progress, so a sleep is never longer.
inline constexpr int sleep_ms_max = 100;

/// A UCX key of memory that can be read directly is 25 bytes or more; one that is emulated by
/// messages is 10 to 12.
inline constexpr size_t direct_rkey_bytes_min = 20;

/// How long the source of a session keeps its pages without a word from the receiver (a manifest
/// sets it: transport.page_lease).
inline constexpr TimeUs lease_us = 30'000'000;
/// How long the receiver waits for the first word of the source, and for the next ones; then it
/// computes the blocks itself.
inline constexpr TimeUs attach_us = 3'000'000;
inline constexpr TimeUs silence_us = 2'000'000;
/// Both ends say "still here" this often, or three times a lease.
inline constexpr TimeUs heartbeat_us = 400'000;
/// Reads of one session at one time.
inline constexpr uint32_t session_reads_max = 8;
/// Blocks of one session: 4 M tokens in blocks of 64.
inline constexpr uint32_t session_blocks_max = 65536;

}  // namespace troupe::transport::limits
