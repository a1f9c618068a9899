#include "actors/tls_errors.hpp"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <mutex>
#include <string>

#include "actors/tls_guard.hpp"

namespace {

struct Refusals {
  std::mutex mutex;
  std::optional<std::string> last;
};

/// Never destroyed: threads of CAF may be in a call when the process ends.
Refusals& refusals() {
  static Refusals* const only = new Refusals;
  return *only;
}

/// Whether it is about a certificate: theirs does not verify here, or ours not there.
bool is_about_certificates(int reason) {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return true;
    default:
      return false;
  }
}

/// CAF says only that it could not connect.
void note_refusal(SSL* ssl, int result) {
  if (result > 0 || SSL_is_server(ssl) != 0) return;
  const unsigned long code = ERR_peek_last_error();
  if (ERR_GET_LIB(code) != ERR_LIB_SSL || !is_about_certificates(ERR_GET_REASON(code))) return;
  const char* const words = ERR_reason_error_string(code);
  const std::lock_guard lock(refusals().mutex);
  refusals().last = words == nullptr ? "unknown" : words;
}

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
  note_refusal(ssl, result);
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
  const int result = real(ssl);
  note_refusal(ssl, result);
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

std::optional<std::string> last_certificate_refusal() {
  const std::lock_guard lock(refusals().mutex);
  return refusals().last;
}

}  // namespace troupe::actors
