// The limits of the cast, each with what happens at it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace troupe::actors::limits {

/// A bulk payload travels in parts of this many bytes.
inline constexpr size_t part_bytes = 64 * 1024;
/// Parts of one transfer that may be unacknowledged.
inline constexpr int part_window = 4;
/// Places of a prompt up to which one request may have its blocks kept, and for how long; those
/// beyond are not kept, and not longer.
inline constexpr int cache_marks_max = 4;
inline constexpr uint32_t cache_ttl_max_s = 3600;
/// Pinned blocks that are given up at once when a sequence can't run for want of pages.
inline constexpr size_t pins_given_up = 64;
/// Largest payload of each kind; more is refused when it is announced.
inline constexpr uint64_t prompt_bytes_max = uint64_t{8} << 20;
inline constexpr uint64_t snapshot_bytes_max = uint64_t{256} << 20;
inline constexpr uint64_t schema_bytes_max = uint64_t{2} << 20;
inline constexpr uint64_t resume_bytes_max = uint64_t{16} << 20;
/// Unfinished transfers of one peer; one more is refused.
inline constexpr size_t transfers_open_max = 256;
/// A transfer of which nothing came for this long is given up.
inline constexpr TimeUs transfer_timeout_us = 30'000'000;
/// Nodes of one cluster; a join beyond is refused.
inline constexpr size_t nodes_max = 1024;
/// Earlier incarnations of a name that are remembered and refused, should they wake up.
inline constexpr size_t replaced_max = 16;
/// A node that did not renew for this long is gone (a manifest sets it: limits.lease).
inline constexpr TimeUs lease_us = 5'000'000;
/// How often a node renews its lease and hears who is there, a worker reports its load, a client
/// pings the workers that it waits for; a shorter lease is renewed three times.
inline constexpr int renew_interval_ms = 250;
/// A worker of which a router hears no load for this long gets no new requests.
inline constexpr TimeUs load_silence_us = 1'500'000;
/// A worker that answers no ping of a client for this long has lost its requests to others.
inline constexpr TimeUs worker_silence_us = 1'750'000;
/// A router that answers no load report for this long is greeted anew.
inline constexpr TimeUs router_silence_us = 5'000'000;
/// A step that takes longer than this stands: the worker gets no new requests and loses those that
/// it has.
inline constexpr TimeUs step_stall_us = 30'000'000;
/// A role that answers no ping of its own process for this long makes its node "stalled": clients
/// ask another front and router where there is one. (A long prompt keeps a front busy.)
inline constexpr TimeUs role_silence_us = 5'000'000;
/// A front or router that did not answer a client is not asked again by it for this long, where
/// there is another one.
inline constexpr TimeUs avoid_us = 5'000'000;
/// A worker that failed a request is not asked again for it for this long.
inline constexpr TimeUs exclude_us = 3'000'000;
/// A request between actors that is not answered by then has failed.
inline constexpr int request_timeout_ms = 5'000;
/// Questions that are answered from memory: hello, attach, place.
inline constexpr int answer_timeout_ms = 2'000;
/// A front that has not answered by then is asked again.
inline constexpr int prepare_timeout_ms = 3'000;
/// Attempts at connecting, where CAF gives up a connection for no reason.
inline constexpr int connect_tries = 3;
/// How long a new request waits for a front, a router and workers before it fails.
inline constexpr TimeUs wait_new_us = 10'000'000;
/// How long a request whose worker was lost looks for another (its own restarts meanwhile).
inline constexpr TimeUs place_timeout_us = 60'000'000;
/// A node that is told of the cluster's end stays this long, so that others hear it from it.
inline constexpr int farewell_ms = 600;
/// A directory that is silent for this long is not coming back: longer than its restart takes.
inline constexpr TimeUs directory_silence_us = 15'000'000;
/// Attempts of one request before it fails.
inline constexpr uint32_t attempts_max = 16;
/// Delta messages to one client that may be unacknowledged; beyond it they are merged and held.
inline constexpr uint64_t deltas_unacked_max = 64;
/// A client that acknowledges nothing for this long while deltas wait loses its requests.
inline constexpr TimeUs slow_client_us = 60'000'000;
/// Deltas held for a client are merged up to this size, and sent in messages of at most this size.
inline constexpr size_t held_delta_bytes = 16 * 1024;
inline constexpr size_t deltas_bytes = 64 * 1024;
/// A client of which a worker hears nothing for this long (it pings every renew interval) loses its
/// requests: it stands still, or forgot them.
inline constexpr TimeUs client_silence_us = 10'000'000;
/// A client for which more than this is held loses its requests.
inline constexpr size_t held_bytes_max = size_t{8} << 20;
/// TLS handshakes of a control port that are under way; one more connection is turned away.
inline constexpr size_t handshakes_max = 128;
/// A handshake that takes longer is cut off.
inline constexpr TimeUs handshake_us = 2'000'000;
/// Failed handshakes of our own connections whose reasons are kept; the oldest is forgotten.
inline constexpr size_t refusals_kept_max = 32;
/// A connection that says nothing for about this long is turned away.
inline constexpr int first_bytes_s = 2;
/// Connections that are turned away before CAF does something else.
inline constexpr int accepts_per_turn = 64;
/// The log hears of such connections at most this often.
inline constexpr TimeUs report_interval_us = 10'000'000;
/// A session whose reader is there, but not the prompt to compute (its client does not reach us),
/// ends after this long: the reader computes for itself.
inline constexpr TimeUs prompt_wait_us = 5'000'000;
/// Transfer sessions of one worker.
inline constexpr size_t sessions_max = 4096;
/// Requests of one worker, choices counted.
inline constexpr size_t requests_max = 4096;
/// Requests that ended and that a router remembers, so that questions which come late book nothing;
/// the oldest is forgotten.
inline constexpr size_t ended_requests_max = 4096;
/// Block names of one placement (256 K tokens in blocks of 64).
inline constexpr size_t names_max = 4096;
/// Questions in one message to a draft actor; those beyond are not asked.
inline constexpr size_t draft_asks_max = 256;
/// Tokens in one lesson to a draft actor: less than 64 KiB. Longer texts come in several.
inline constexpr size_t lesson_tokens = 8192;
/// Lessons that wait for a draft actor; those beyond are left out.
inline constexpr size_t lessons_held_max = 256;
/// Index of a draft actor, unless the manifest says otherwise.
inline constexpr size_t draft_bytes_default = size_t{64} << 20;
/// A store of which a router heard nothing for this long (it reports every renew interval) is not
/// read from.
inline constexpr TimeUs store_silence_us = 1'500'000;
/// Full blocks of a worker that wait to be offered to a store; beyond it the oldest is not offered.
inline constexpr size_t offer_queue_max = 4096;
/// Blocks of one offer, and offers of one worker that may be unanswered.
inline constexpr uint32_t offer_blocks_max = 32;
inline constexpr size_t offers_unanswered_max = 2;
/// Offers that a block may be in: one that came to nothing is made again.
inline constexpr uint32_t offer_tries_max = 3;
/// Pages pinned for offers: at most one in this many of the worker's pool.
inline constexpr uint32_t offer_pool_share = 16;
/// A store of which an offer hears nothing for this long loses it: the pages are needed.
inline constexpr TimeUs offer_lease_us = 3'000'000;
/// Of 0 to 9; tenants do not have theirs yet.
inline constexpr uint32_t offer_priority = 5;
/// Offers that a store takes in at once; one more is refused and may be made again.
inline constexpr size_t intakes_max = 64;
/// A reader of a store that says nothing for this long loses its pins.
inline constexpr TimeUs store_lease_us = 10'000'000;
/// A reader of a store that waits for the disk this long without a block coming from there computes
/// the rest.
inline constexpr TimeUs disk_wait_us = 3'000'000;
/// Events in one message to a router.
inline constexpr size_t events_max = 2048;

}  // namespace troupe::actors::limits
