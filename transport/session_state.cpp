#include "transport/session_state.hpp"

namespace troupe::transport {
namespace {

constexpr bool yes = true;
constexpr bool no = false;

// Row: from. Columns: offered, reserved, moving, verified, done, cancelled, failed.
constexpr bool transitions[num_session_states][num_session_states] = {
    /* offered   */ {no, yes, no, no, no, yes, yes},
    /* reserved  */ {no, no, yes, no, no, yes, yes},
    /* moving    */ {no, no, no, yes, no, yes, yes},
    /* verified  */ {no, no, no, no, yes, yes, yes},
    /* done      */ {no, no, no, no, no, no, no},
    /* cancelled */ {no, no, no, no, no, no, no},
    /* failed    */ {no, no, no, no, no, no, no},
};

constexpr const char* names[num_session_states] = {"offered", "reserved",  "moving", "verified",
                                                   "done",    "cancelled", "failed"};

}  // namespace

const char* name(SessionState state) {
  return names[static_cast<int>(state)];
}

bool is_final(SessionState state) {
  return state == SessionState::done || state == SessionState::cancelled ||
         state == SessionState::failed;
}

bool transition_allowed(SessionState from, SessionState to) {
  return transitions[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace troupe::transport
