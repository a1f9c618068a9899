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

/// A piece of a block: one active message over TCP (256 KiB to 1 MiB is where its speed levels
/// off), one get over shared memory (small enough that the checksum still finds it in the cache).
inline constexpr uint32_t tcp_piece_bytes = 512 * 1024;
inline constexpr uint32_t tcp_piece_bytes_min = 64 * 1024;
inline constexpr uint32_t tcp_piece_bytes_max = 1024 * 1024;
inline constexpr size_t shm_piece_bytes = 256 * 1024;

/// Pieces that a source has under way to one receiver; more do not go faster.
inline constexpr uint32_t pieces_in_flight_max = 4;
/// Reads that a receiver has asked one peer for over TCP.
inline constexpr uint32_t wants_in_flight_max = 16;
/// Wants that a source queues for one receiver before it refuses.
inline constexpr size_t wants_queued_max = 64;
/// Receivers that a source keeps endpoints to.
inline constexpr size_t receivers_max = 1024;
/// Pieces read over shared memory before the other worker gets its turn.
inline constexpr int shm_pieces_per_turn = 4;

/// Reads that may wait or move at one time in one process.
inline constexpr size_t reads_max = size_t{1} << 20;

inline constexpr TimeUs connect_timeout_us = 5'000'000;
/// How long a cancelled read waits for pieces that are being received before its endpoint is
/// closed by force (nothing else makes UCX let go of a posted buffer).
inline constexpr TimeUs cancel_grace_us = 1'000'000;
/// After a forced close, requests end within microseconds; beyond this we stop waiting for them.
inline constexpr TimeUs close_grace_us = 1'000'000;
/// Shutdown waits this long for closes and sends.
inline constexpr TimeUs shutdown_us = 2'000'000;
/// Busy polling after the last event, then sleep.
inline constexpr TimeUs spin_us = 50;
/// Keepalive timers run inside progress, so a sleep is never longer.
inline constexpr int sleep_ms_max = 100;

/// A UCX key of memory that can be read directly is 25 bytes or more; one that is emulated by
/// messages is 10 to 12.
inline constexpr size_t direct_rkey_bytes_min = 20;

}  // namespace troupe::transport::limits
