// Why connections that this process opened ended in TLS, in our own words: CAF says only that it
// could not connect. Kept per address, so that what one peer said is not taken for another's word;
// of connections that others open to us nothing is kept. Internal to actors/.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace troupe::actors {

/// How many there have been: to be asked before a connection is opened.
uint64_t tls_refusals_seen();

/// What TLS said of a connection of ours to host:port, the newest one after the first `seen`.
/// failed_precondition: one end does not accept the other's certificate, which no second attempt
/// changes; unavailable: the handshake failed for another reason. A host's name may be looked up.
std::optional<Error> tls_refusal(const std::string& host, uint16_t port, uint64_t seen);

/// A call of SSL_connect is about to be made / has returned / a call of SSL_read has returned.
void before_connect(SSL* ssl);
void after_connect(SSL* ssl, int result);
void after_read(SSL* ssl, int result);

}  // namespace troupe::actors
