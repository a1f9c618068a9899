// The limits of the HTTP front, each with what happens at it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::gateway::limits {

/// Request line and headers together; more is answered with 431.
inline constexpr uint32_t header_bytes_max = 16 * 1024;
/// A body; more is answered with 413 before it is read.
inline constexpr uint64_t body_bytes_max = uint64_t{16} << 20;
/// Open connections in all; one more is closed at once.
inline constexpr size_t connections_max = 16384;
/// Open connections of one address that is not loopback; one more is closed at once.
inline constexpr size_t connections_per_address_max = 256;
/// Bytes that all requests together may hold of bodies that are being read; one more is answered
/// with 503.
inline constexpr uint64_t bodies_bytes_max = uint64_t{512} << 20;
/// Bytes of one read of a body.
inline constexpr size_t read_bytes_max = 64 * 1024;
/// A connection that has sent nothing for this long is closed.
inline constexpr int idle_s = 120;
/// A head that has not come whole by then is given up with 408.
inline constexpr int header_s = 10;
/// A body of which nothing comes for this long is given up with 408; so is one that takes longer
/// than the second.
inline constexpr int body_silence_s = 20;
inline constexpr int body_s = 300;
/// A peer that takes no byte for this long is cut off.
inline constexpr int write_silence_s = 60;
/// What is held for a peer that reads slowly; beyond it the peer is cut off and its request
/// cancelled.
inline constexpr size_t unsent_bytes_max = size_t{8} << 20;
/// An event of a stream waits at most this long (a frame of a screen) for those behind it, so that
/// they share a write; none waits when the one before it went out longer ago.
inline constexpr int64_t gather_us = 16'000;
/// Once so much has come together for one connection it is written without waiting further.
inline constexpr size_t gather_bytes = 16 * 1024;
/// A TLS handshake that takes longer is cut off.
inline constexpr int handshake_s = 5;
/// How often connections with requests under way are looked at: is the peer still there?
inline constexpr int look_ms = 250;
/// A stream in which nothing was said for this long gets a comment, so that proxies keep it.
inline constexpr int keep_alive_s = 10;
/// Accepting pauses for this long when the process has no descriptors left.
inline constexpr int accept_pause_ms = 100;
/// Nesting of a JSON body; deeper is refused.
inline constexpr size_t json_depth_max = 64;
/// Members of one object of it; more is refused.
inline constexpr size_t json_members_max = 4096;
/// Values of a JSON body (commas and brackets are counted); more is refused.
inline constexpr size_t json_values_max = 4'000'000;
/// Messages of a chat, tools, and parts of one message's content; more is refused.
inline constexpr size_t messages_max = 16384;
inline constexpr size_t tools_max = 1024;
/// Blocks with cache_control in one request; more is refused.
inline constexpr size_t cache_marks_max = 4;
/// How long what such a block marks is kept: with ttl 5m, which is what a mark without one means,
/// and with 1h.
inline constexpr uint32_t cache_short_s = 300;
inline constexpr uint32_t cache_long_s = 3600;
/// Prompts of one completion request, each with its choices; more is refused.
inline constexpr size_t prompts_max = 64;
/// Characters of a key; shorter ones are guessed, longer ones are none of ours.
inline constexpr size_t key_bytes_min = 16;
inline constexpr size_t key_bytes_max = 256;
/// Keys of one gateway, and bytes of their file.
inline constexpr size_t keys_max = 4096;
inline constexpr size_t key_file_bytes_max = size_t{1} << 20;
/// A readiness that is older than this is none.
inline constexpr int64_t ready_age_us = 3'000'000;
/// How often the cluster is asked who is there.
inline constexpr int watch_ms = 500;
/// How long the answer may take.
inline constexpr int watch_timeout_ms = 1'500;
/// How long a gateway that was told to stop waits for its streams (a manifest sets it:
/// limits.drain_timeout).
inline constexpr int64_t drain_ms = 30'000;
/// Tenants that the metrics tell apart, those that come first; the rest counts as "other".
inline constexpr size_t tenants_told_max = 16;
/// Names of unknown fields that are counted one by one; the rest counts as "other".
inline constexpr size_t unknown_fields_max = 64;

}  // namespace troupe::gateway::limits
