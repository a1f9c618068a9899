#include "actors/directory.hpp"

#include "schemas/convert.hpp"

namespace troupe::actors {

DirectoryActor::behavior_type directory(DirectoryActor::pointer,
                                        std::shared_ptr<DirectoryState> state) {
  return {
      [state](const v1::Join& join) {
        auto members = state->join(join, now_us());
        if (members) return *members;
        v1::Members refused;
        *refused.mutable_failure() = schemas::to_wire(members.error());
        return refused;
      },
      [state](const v1::MembersQuery&) {
        state->expire(now_us());
        return state->members();
      },
      [state](const v1::Leave& leave) { state->leave(leave.name(), leave.incarnation()); },
      [](const Closure& closure) { (*closure.run)(); },
      [](const v1::Ping& ping) { return pong_of(ping); },
  };
}

}  // namespace troupe::actors
