// Keeps a failed TLS connection from taking others down.
#pragma once

#include "base/result.hpp"

namespace troupe::actors {

/// OpenSSL reports errors through a queue per thread, and SSL_get_error() takes whatever lies in it
/// for an error of the connection at hand. CAF 0.17 never empties it: one peer that closes without
/// saying goodbye, or a stranger who speaks no TLS, makes the next connection that has nothing to
/// read look broken, and CAF closes it. This file therefore defines the four calls that CAF makes,
/// each of which empties the queue and goes on to OpenSSL's. Fails when they would not be used.
Status keep_tls_errors_apart();

}  // namespace troupe::actors
