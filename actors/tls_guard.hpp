// Stands before CAF's control port: connections that say nothing, do not speak TLS or do not finish
// their handshake in time never cost CAF more than a moment. Works by taking the place of accept()
// and two functions of libssl, as tls_errors.hpp does. Internal to actors/.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>

#include "base/result.hpp"

namespace troupe::actors {

/// Guards the listening socket of this process at `port`, which CAF has opened. Errors: not_found,
/// internal (the build does not put us before libc).
Status guard_control_port(uint16_t port);

/// A call of SSL_accept is about to be made / has returned.
void before_accept(SSL* ssl);
void after_accept(SSL* ssl, int result);

}  // namespace troupe::actors
