#include "transport/data_port.hpp"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <ucs/sys/sock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "transport/limits.hpp"
#include "transport/ticket.hpp"

namespace troupe::transport {

struct DataPort::State {
  State(const std::string& secret, uint64_t incarnation, Counters& all)
      : key(secret), book(secret, incarnation), counters(all) {}

  std::string key;
  TicketBook book;
  Counters& counters;
  TicketHolder holder;   ///< this process
  uint64_t tickets = 0;  ///< made so far
  uint64_t silent = 0;   ///< connections turned away since the last line in the log
  uint64_t foreign = 0;  ///< the same
  uint64_t forged = 0;   ///< the same
  uint64_t used = 0;     ///< the same
  TimeUs next_report_us = 0;
};

namespace {

using State = DataPort::State;

struct Destination {
  State* from = nullptr;
  uint64_t incarnation = 0;
  uint64_t named = 0;  ///< when, in names given
};

/// What the four functions need to know; guarded by its mutex.
struct Sockets {
  std::mutex mutex;
  /// Null: nobody may connect any more. Those of UCX workers that are not ours are not here.
  std::map<int, State*> listeners;
  std::set<int> connecting;  ///< nothing was sent there yet
  std::map<DataSocket, Destination> destinations;
  uint64_t names_given = 0;

  void name(const DataSocket& socket, State* from, uint64_t incarnation) {
    if (!destinations.contains(socket) && destinations.size() >= limits::destinations_max) {
      destinations.erase(std::ranges::min_element(
          destinations, {}, [](const auto& entry) { return entry.second.named; }));
    }
    destinations[socket] = {from, incarnation, ++names_given};
  }
};

/// Never destroyed: threads of UCX may be in a call when the process ends.
Sockets& sockets() {
  static Sockets* const only = new Sockets;
  return *only;
}

/// Whose worker is being made on this thread.
thread_local State* opening = nullptr;

using GetName = int (*)(int, sockaddr*, socklen_t*);

/// Zero for what is not IPv4.
DataSocket name_of(int fd, GetName get_name) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (get_name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.sin_family != AF_INET) return {};
  return {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
}

uint64_t wall_clock_us() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
}

std::string random_key() {
  std::random_device device;
  std::string key;
  while (key.size() < 32) key.push_back(static_cast<char>(device()));
  return key;
}

void on_listening(int fd) {
  Sockets& all = sockets();
  const std::lock_guard lock(all.mutex);
  all.listeners.erase(fd);
  if (opening == nullptr) return;
  all.listeners[fd] = opening;
  opening->holder.socket = name_of(fd, &::getsockname);
  // The system tells of a connection when its first bytes have come, or after this time.
  const int seconds = limits::first_bytes_s;
  ::setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
}

std::optional<std::string> report(State& state) {
  const TimeUs now = now_us();
  if (now < state.next_report_us) return std::nullopt;
  state.next_report_us = now + limits::report_interval_us;
  const uint64_t number = state.silent + state.foreign + state.forged + state.used;
  std::string line = concat(
      "turned ", number, " connections away from the data port: ", state.silent, " said nothing, ",
      state.foreign, " showed no ticket, ", state.forged,
      " one of another cluster or for another process, ", state.used, " one that was used before");
  state.silent = state.foreign = state.forged = state.used = 0;
  return line;
}

void count(State& state, TicketVerdict verdict) {
  ++state.counters.connections_refused;
  uint64_t State::*const kind = verdict == TicketVerdict::silent    ? &State::silent
                                : verdict == TicketVerdict::foreign ? &State::foreign
                                : verdict == TicketVerdict::forged  ? &State::forged
                                                                    : &State::used;
  ++(state.*kind);
}

/// Whether the connection may go on to UCX. Its ticket is taken out of the stream.
bool is_admitted(int listener, int connection) {
  Sockets& all = sockets();
  std::unique_lock lock(all.mutex);
  all.connecting.erase(connection);
  const auto found = all.listeners.find(listener);
  if (found == all.listeners.end()) return true;
  State* const state = found->second;
  if (state == nullptr) return false;
  Ticket shown;
  const ssize_t bytes = ::recv(connection, shown.data(), shown.size(), MSG_DONTWAIT);
  TicketHolder holder;
  const TicketVerdict verdict =
      state->book.check(std::span(shown).first(bytes < 0 ? 0 : static_cast<size_t>(bytes)), holder);
  if (verdict == TicketVerdict::good) {
    // UCX may have to open a connection to whom it is to answer.
    if (holder.socket.port != 0) all.name(holder.socket, state, holder.incarnation);
    return true;
  }
  count(*state, verdict);
  const std::optional<std::string> line = report(*state);
  lock.unlock();
  if (line) log_warning("transport", *line);
  return false;
}

/// The ticket that is due before the first bytes to `fd`; none where we did not connect, or do not
/// know to whom.
std::optional<Ticket> due_ticket(int fd) {
  Sockets& all = sockets();
  const std::lock_guard lock(all.mutex);
  if (all.connecting.erase(fd) == 0) return std::nullopt;
  const auto found = all.destinations.find(name_of(fd, &::getpeername));
  if (found == all.destinations.end()) return std::nullopt;
  State& from = *found->second.from;
  return make_ticket(from.key, from.holder, ++from.tickets, found->second.incarnation);
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

DataPort::DataPort(const std::string& key, uint64_t incarnation, Counters& counters) {
  static const std::string own = random_key();
  state_ = std::make_unique<State>(key.empty() ? own : key, incarnation, counters);
  state_->holder.started_us = wall_clock_us();
  state_->holder.incarnation = incarnation;
}

DataPort::~DataPort() {
  Sockets& all = sockets();
  const std::lock_guard lock(all.mutex);
  for (auto& [fd, state] : all.listeners) {
    if (state == state_.get()) state = nullptr;
  }
  std::erase_if(all.destinations,
                [this](const auto& entry) { return entry.second.from == state_.get(); });
}

Status DataPort::guard(const std::function<Status()>& open) {
  opening = state_.get();
  Status result = open();
  opening = nullptr;
  if (!result || socket().port != 0) return result;
  return error(Code::internal, "this build does not guard its data port",
               "link troupe_transport into the program, not into a library");
}

DataSocket DataPort::socket() const {
  const std::lock_guard lock(sockets().mutex);
  return state_->holder.socket;
}

void DataPort::name_peer(const DataSocket& socket, uint64_t incarnation) {
  Sockets& all = sockets();
  const std::lock_guard lock(all.mutex);
  all.name(socket, state_.get(), incarnation);
}

}  // namespace troupe::transport

// libuct finds these before libucs's.
extern "C" {

ucs_status_t ucs_socket_server_init(const sockaddr* address, socklen_t size, int backlog,
                                    int silent_bind, int reuse_address, int* listener) {
  static const auto next =
      troupe::transport::real<decltype(&ucs_socket_server_init)>("ucs_socket_server_init");
  const ucs_status_t status = next(address, size, backlog, silent_bind, reuse_address, listener);
  if (status == UCS_OK) troupe::transport::on_listening(*listener);
  return status;
}

ucs_status_t ucs_socket_accept(int listener, sockaddr* address, socklen_t* size, int* accepted) {
  namespace own = troupe::transport;
  static const auto next = own::real<decltype(&ucs_socket_accept)>("ucs_socket_accept");
  const socklen_t room = *size;
  for (int n = 0; n < own::limits::accepts_per_turn; ++n) {
    *size = room;
    const ucs_status_t status = next(listener, address, size, accepted);
    if (status != UCS_OK || own::is_admitted(listener, *accepted)) return status;
    ::close(std::exchange(*accepted, -1));
  }
  // Another status makes UCX close its port.
  return UCS_ERR_NO_PROGRESS;
}

ucs_status_t ucs_socket_connect(int fd, const sockaddr* address) {
  namespace own = troupe::transport;
  static const auto next = own::real<decltype(&ucs_socket_connect)>("ucs_socket_connect");
  const ucs_status_t status = next(fd, address);
  const std::lock_guard lock(own::sockets().mutex);
  if (!UCS_STATUS_IS_ERR(status)) own::sockets().connecting.insert(fd);
  return status;
}

ucs_status_t ucs_socket_send(int fd, const void* bytes, size_t size) {
  namespace own = troupe::transport;
  static const auto next = own::real<decltype(&ucs_socket_send)>("ucs_socket_send");
  if (const auto ticket = own::due_ticket(fd)) {
    const ssize_t sent = ::send(fd, ticket->data(), ticket->size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(ticket->size())) return UCS_ERR_IO_ERROR;
  }
  return next(fd, bytes, size);
}

}  // extern "C"
