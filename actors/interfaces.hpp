// The typed interfaces of the cast: who understands which message. One screen, the whole protocol.
#pragma once

#include "actors/caf_messages.hpp"

namespace troupe::actors {

/// Understands bulk payloads in parts.
using PartSink = caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>>;

/// Wants to know who is there.
using MembersListener = caf::typed_actor<caf::reacts_to<v1::Members>>;

/// Says that its loop moves. Every role is asked by the node actor of its process.
using PingTarget = caf::typed_actor<caf::replies_to<v1::Ping>::with<v1::Pong>>;

inline v1::Pong pong_of(const v1::Ping& ping) {
  v1::Pong pong;
  pong.set_number(ping.number());
  return pong;
}

/// The published actor of a process: checks protocol and cluster, hands out its roles.
using NodeActor =
    caf::typed_actor<caf::replies_to<v1::Hello>::with<v1::Welcome, caf::strong_actor_ptr>,
                     caf::replies_to<v1::Drain>::with<v1::DrainReply>, caf::reacts_to<Closure>,
                     caf::reacts_to<caf::tick_atom>>;

/// Membership with leases. A join renews the lease and answers with who is there.
using DirectoryActor = caf::typed_actor<caf::replies_to<v1::Join>::with<v1::Members>,
                                        caf::replies_to<v1::MembersQuery>::with<v1::Members>,
                                        caf::reacts_to<v1::Leave>, caf::reacts_to<Closure>,
                                        caf::replies_to<v1::Ping>::with<v1::Pong>>;

using RouterActor = caf::typed_actor<
    caf::replies_to<v1::WorkerHello, caf::strong_actor_ptr>::with<v1::WorkerHelloReply>,
    caf::replies_to<v1::KvEvents>::with<v1::KvEventsReply>,
    caf::replies_to<v1::LoadReport>::with<v1::Pong>, caf::reacts_to<v1::StoreReport>,
    caf::replies_to<v1::Part>::with<v1::PartAck>,
    caf::replies_to<v1::PlaceRequest>::with<v1::Placement>, caf::reacts_to<v1::BookingUpdate>,
    caf::replies_to<v1::StatusQuery>::with<v1::RouterStatus>,
    caf::replies_to<v1::Ping>::with<v1::Pong>>;

/// Takes a PrepareRequest in parts; answers the sender with a PreparedRequest in parts.
using FrontActor =
    caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>, caf::reacts_to<v1::Members>,
                     caf::replies_to<v1::Ping>::with<v1::Pong>>;

/// Has blocks that others read: a worker or a store.
using BlockSource = caf::typed_actor<caf::replies_to<v1::Attach>::with<v1::AttachReply>,
                                     caf::reacts_to<v1::ReadDone>>;

/// What a prefill worker understands.
using PrefillActor = caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>,
                                      caf::replies_to<v1::Attach>::with<v1::AttachReply>,
                                      caf::reacts_to<v1::ReadDone>, caf::reacts_to<v1::Cancel>>;

/// What a decode worker understands.
using DecodeActor =
    caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>, caf::reacts_to<v1::Cancel>,
                     caf::reacts_to<v1::DeltasAck>, caf::reacts_to<v1::Announce>,
                     caf::replies_to<v1::Ping>::with<v1::Pong>>;

/// Takes the output of requests / the blocks that are ready to be read.
using DeltaSink = caf::typed_actor<caf::reacts_to<v1::Deltas>>;
using AnnounceSink = caf::typed_actor<caf::reacts_to<v1::Announce>>;

/// A process with a device runs one worker; its roles say whether it is asked to prefill, to
/// decode, or both, and both share one engine and one pool.
using WorkerActor =
    caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>,
                     caf::replies_to<v1::Attach>::with<v1::AttachReply>,
                     caf::reacts_to<v1::ReadDone>, caf::reacts_to<v1::Cancel>,
                     caf::reacts_to<v1::DeltasAck>, caf::reacts_to<v1::Announce>,
                     caf::replies_to<v1::Ping>::with<v1::Pong>, caf::reacts_to<v1::Members>,
                     caf::reacts_to<Closure>, caf::reacts_to<caf::tick_atom>>;

/// Knows what was said before: proposes what comes next. A lesson is answered so that a worker can
/// send one at a time.
using DraftActor =
    caf::typed_actor<caf::replies_to<v1::Propose>::with<v1::Proposal>,
                     caf::replies_to<v1::Lesson>::with<v1::LessonReply>,
                     caf::reacts_to<v1::Feedback>, caf::replies_to<v1::Ping>::with<v1::Pong>>;

/// Keeps blocks for workers: takes what they offer, gives what they ask for by name.
using KvStoreActor = caf::typed_actor<caf::replies_to<v1::Offer>::with<v1::OfferReply>,
                                      caf::replies_to<v1::Attach>::with<v1::AttachReply>,
                                      caf::reacts_to<v1::ReadDone>, caf::reacts_to<v1::Members>,
                                      caf::reacts_to<Closure>, caf::reacts_to<caf::tick_atom>,
                                      caf::replies_to<v1::Ping>::with<v1::Pong>>;

/// One GPU or one CPU: runs plans one after the other.
using DeviceActor = caf::typed_actor<caf::replies_to<StepTask>::with<StepDone>>;

/// Tells subscribers what a process measures of itself, and who watches.
using MetricsActor = caf::typed_actor<
    caf::replies_to<v1::Subscribe, caf::strong_actor_ptr>::with<v1::SubscribeReply>,
    caf::reacts_to<v1::MetricsAck>, caf::reacts_to<caf::tick_atom>,
    caf::replies_to<v1::Ping>::with<v1::Pong>>;
using MetricsSink = caf::typed_actor<caf::reacts_to<v1::MetricsUpdate>>;

/// Watches every node of a cluster.
using MonitorActor =
    caf::typed_actor<caf::reacts_to<v1::MetricsUpdate>, caf::reacts_to<caf::tick_atom>>;

/// Owns an application's requests and their resume points.
using ClientActor =
    caf::typed_actor<caf::replies_to<v1::Part>::with<v1::PartAck>, caf::reacts_to<v1::Deltas>,
                     caf::reacts_to<Closure>, caf::reacts_to<caf::tick_atom>>;

}  // namespace troupe::actors
