// Every type that travels in an actor message, registered with CAF 0.17. Protobuf messages travel
// as one string whose size is checked before it is parsed. Include in few files: CAF is slow to
// compile.
#pragma once

#include <caf/all.hpp>
#include <functional>
#include <memory>
#include <string>

#include "actors/message_sizes.hpp"
#include "base/result.hpp"
#include "engine/step_plan.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/common.pb.h"
#include "schemas/draft.pb.h"
#include "schemas/metrics.pb.h"
#include "schemas/request.pb.h"

namespace troupe::actors {

/// Local only: a plan on its way to the device, and its result on the way back. Floats never enter
/// the CAF serialiser (infinity hangs it).
struct StepTask {
  std::shared_ptr<engine::StepPlan> plan;
};
struct StepDone {
  std::shared_ptr<Result<engine::StepResult>> result;
};
/// Local only: work for an actor's own thread.
struct Closure {
  std::shared_ptr<std::function<void()>> run;
};

namespace limits {
/// Hard limit of one message on the wire.
inline constexpr size_t message_bytes_max = 1u << 20;
}  // namespace limits

}  // namespace troupe::actors

namespace troupe::v1 {

template <class T>
using IfProto = std::enable_if_t<std::is_base_of_v<google::protobuf::MessageLite, T>>;

template <class T, class = IfProto<T>>
caf::error inspect(caf::serializer& f, T& x) {
  std::string bytes;
  if (x.ByteSizeLong() > actors::limits::message_bytes_max || !x.SerializeToString(&bytes)) {
    return caf::sec::invalid_argument;
  }
  actors::note_message(bytes.size());
  return f(bytes);
}

template <class T, class = IfProto<T>>
caf::error inspect(caf::deserializer& f, T& x) {
  std::string bytes;
  if (auto failed = f(bytes)) return failed;
  if (bytes.size() > actors::limits::message_bytes_max || !x.ParseFromString(bytes)) {
    return caf::sec::invalid_argument;
  }
  return {};
}

/// Never the content: prompts do not belong in logs.
template <class T, class = IfProto<T>>
std::string to_string(const T& x) {
  return x.GetTypeName();
}

}  // namespace troupe::v1

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::actors::StepTask)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::actors::StepDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::actors::Closure)

/// Every message that travels between processes, once: registered below, sent over the wire by a
/// test. An unregistered type compiles and arrives empty.
// clang-format off
#define TROUPE_WIRE_MESSAGES(X) \
  X(Failure) X(NodeInfo) X(Hello) X(Welcome) X(Join) X(Leave) X(MembersQuery) X(Members) \
  X(Part) X(PartAck) X(WorkerHello) X(WorkerHelloReply) X(LoadReport) X(KvEvents) \
  X(KvEventsReply) X(PlaceRequest) X(Placement) X(BookingUpdate) X(StatusQuery) \
  X(RouterStatus) X(Attach) X(AttachReply) X(Announce) X(ReadDone) X(Cancel) X(Deltas) \
  X(DeltasAck) X(Propose) X(Proposal) X(Lesson) X(LessonReply) X(Feedback) X(Drain) X(DrainReply) \
  X(Ping) X(Pong) X(Subscribe) X(SubscribeReply) X(MetricsUpdate) X(MetricsAck) X(Offer) \
  X(OfferReply) X(StoreReport)
// clang-format on

#define TROUPE_ADD_WIRE_MESSAGE(name) CAF_ADD_TYPE_ID(troupe, (troupe::v1::name))

CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id)
TROUPE_WIRE_MESSAGES(TROUPE_ADD_WIRE_MESSAGE)
CAF_ADD_TYPE_ID(troupe, (troupe::actors::StepTask))
CAF_ADD_TYPE_ID(troupe, (troupe::actors::StepDone))
CAF_ADD_TYPE_ID(troupe, (troupe::actors::Closure))
CAF_END_TYPE_ID_BLOCK(troupe)

#undef TROUPE_ADD_WIRE_MESSAGE
