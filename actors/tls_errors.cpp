#include "actors/tls_errors.hpp"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "actors/tls_guard.hpp"
#include "actors/tls_refusals.hpp"

namespace {

/// The definition that comes after ours: OpenSSL's.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// libcaf_openssl finds these before libssl's: the program comes first in the search.
extern "C" {

int SSL_read(SSL* ssl, void* buffer, int size) {
  static auto* const real = next<decltype(SSL_read)>("SSL_read");
  ERR_clear_error();
  const int result = real(ssl, buffer, size);
  // With TLS 1.3 the other end judges our certificate after the handshake is over here.
  troupe::actors::after_read(ssl, result);
  return result;
}

int SSL_write(SSL* ssl, const void* buffer, int size) {
  static auto* const real = next<decltype(SSL_write)>("SSL_write");
  ERR_clear_error();
  return real(ssl, buffer, size);
}

int SSL_accept(SSL* ssl) {
  static auto* const real = next<decltype(SSL_accept)>("SSL_accept");
  ERR_clear_error();
  troupe::actors::before_accept(ssl);
  const int result = real(ssl);
  troupe::actors::after_accept(ssl, result);
  return result;
}

int SSL_connect(SSL* ssl) {
  static auto* const real = next<decltype(SSL_connect)>("SSL_connect");
  ERR_clear_error();
  troupe::actors::before_connect(ssl);
  const int result = real(ssl);
  troupe::actors::after_connect(ssl, result);
  return result;
}

}  // extern "C"

namespace troupe::actors {

Status keep_tls_errors_apart() {
  const auto used = [](const char* name, const void* ours) {
    return ::dlsym(RTLD_DEFAULT, name) == ours && ::dlsym(RTLD_NEXT, name) != nullptr;
  };
  if (used("SSL_read", reinterpret_cast<const void*>(&SSL_read)) &&
      used("SSL_write", reinterpret_cast<const void*>(&SSL_write)) &&
      used("SSL_accept", reinterpret_cast<const void*>(&SSL_accept)) &&
      used("SSL_connect", reinterpret_cast<const void*>(&SSL_connect))) {
    return {};
  }
  return error(Code::internal, "this build does not separate the TLS errors of connections",
               "link libssl as a shared library, after troupe_actors");
}

}  // namespace troupe::actors
