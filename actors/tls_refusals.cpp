#include "actors/tls_refusals.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <array>
#include <deque>
#include <memory>
#include <mutex>

#include "actors/limits.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

struct Peer {
  std::string address;  ///< in digits
  uint16_t port = 0;
  bool operator==(const Peer&) const = default;
};

struct Refusals {
  std::mutex mutex;
  uint64_t seen = 0;
  struct Entry {
    uint64_t number = 0;
    Peer peer;
    Error why;
  };
  std::deque<Entry> newest;
};

/// Never destroyed: threads of CAF may be in a call when the process ends.
Refusals& refusals() {
  static Refusals* const only = new Refusals;
  return *only;
}

Peer read_peer(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), static_cast<uint16_t>(std::stoul(port.data()))};
}

/// Frees what before_connect() hung on a connection.
void free_peer(void*, void* peer, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Peer*>(peer);
}

int peer_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_peer);
  return index;
}

/// Null: the connection is not ours, or has been accepted.
Peer* peer_of(const SSL* ssl) {
  return static_cast<Peer*>(SSL_get_ex_data(ssl, peer_index()));
}

/// An alert about certificates that the other end sent: about ours.
bool is_about_certificates(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_UNKNOWN_CA:
      return true;
    default:
      return false;
  }
}

Error describe(const SSL* ssl, int reason, const Peer& peer) {
  const std::string at = concat(peer.address, ":", peer.port);
  constexpr const char* remedy =
      "both ends need certificates of the same authority that are valid today (troupe certs init, "
      "troupe certs issue)";
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return error(Code::failed_precondition,
                 concat("the certificate of ", at, " is not accepted here: ",
                        X509_verify_cert_error_string(SSL_get_verify_result(ssl))),
                 remedy);
  }
  const int alert = reason - SSL_AD_REASON_OFFSET;
  if (alert >= 0 && is_about_certificates(alert)) {
    // OpenSSL 3.0 has no words for this one.
    const char* const why = alert == SSL_AD_CERTIFICATE_REQUIRED
                                ? "certificate required"
                                : SSL_alert_desc_string_long(alert);
    return error(Code::failed_precondition, concat(at, " does not accept our certificate: ", why),
                 remedy);
  }
  const char* const words = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
  return error(Code::unavailable,
               concat("no TLS handshake with ", at, ": ", words == nullptr ? "unknown" : words),
               "is it the control port of a node?");
}

bool is_address_of(const std::string& host, const Peer& peer) {
  if (host == peer.address) return true;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &first) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (read_peer(one->ai_addr, one->ai_addrlen).address == peer.address) return true;
  }
  return false;
}

}  // namespace

uint64_t tls_refusals_seen() {
  const std::lock_guard lock(refusals().mutex);
  return refusals().seen;
}

std::optional<Error> tls_refusal(const std::string& host, uint16_t port, uint64_t seen) {
  std::deque<Refusals::Entry> newest;
  {
    const std::lock_guard lock(refusals().mutex);
    newest = refusals().newest;
  }
  for (auto entry = newest.rbegin(); entry != newest.rend() && entry->number > seen; ++entry) {
    if (entry->peer.port == port && is_address_of(host, entry->peer)) return entry->why;
  }
  return std::nullopt;
}

void before_connect(SSL* ssl) {
  if (peer_of(ssl) != nullptr) return;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(SSL_get_fd(ssl), raw, &size) != 0) return;
  // Kept from now on: a connection that was reset has no peer any more.
  auto peer = std::make_unique<Peer>(read_peer(raw, size));
  if (SSL_set_ex_data(ssl, peer_index(), peer.get()) == 1) peer.release();
}

void after_read(SSL* ssl, int result) {
  if (result <= 0) {
    after_connect(ssl, result);
    return;
  }
  // Who sends something has accepted us: what ends the connection from now on is no refusal.
  delete peer_of(ssl);
  SSL_set_ex_data(ssl, peer_index(), nullptr);
}

void after_connect(SSL* ssl, int result) {
  if (result > 0) return;
  const unsigned long code = ERR_peek_last_error();
  if (code == 0 || ERR_GET_LIB(code) != ERR_LIB_SSL) return;
  const Peer* const peer = peer_of(ssl);
  if (peer == nullptr) return;
  Refusals& all = refusals();
  const std::lock_guard lock(all.mutex);
  all.newest.push_back({++all.seen, *peer, describe(ssl, ERR_GET_REASON(code), *peer)});
  if (all.newest.size() > limits::refusals_kept_max) all.newest.pop_front();
}

}  // namespace troupe::actors
