// States of a transfer session, the same at both ends, and which may follow which.
#pragma once

#include <cstdint>

namespace troupe::transport {

enum class SessionState : uint8_t {
  offered,    ///< the source has named it; no pages are set aside yet
  reserved,   ///< the receiver has pages for it
  moving,     ///< blocks are announced and read
  verified,   ///< every block was read and had its checksum
  done,       ///< both ends know
  cancelled,  ///< somebody asked for it
  failed,     ///< a block, the peer or a lease was lost
};
inline constexpr int num_session_states = 7;

/// "offered", "reserved", …
const char* name(SessionState state);

/// done, cancelled and failed are final.
bool is_final(SessionState state);

/// The table. Cancel and failure are legal in every state that is not final.
bool transition_allowed(SessionState from, SessionState to);

}  // namespace troupe::transport
