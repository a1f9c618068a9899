#include "transport/address.hpp"

#include <cstring>
#include <span>
#include <type_traits>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {
namespace {

constexpr uint32_t address_magic = 0x41505254;  // "TRPA"
constexpr uint16_t address_version = 2;

uint32_t checksum(std::string_view bytes) {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

/// Appends fixed-size values and length-prefixed texts.
class Writer {
 public:
  template <class T>
  void value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void text(std::string_view v) {
    value(static_cast<uint16_t>(v.size()));
    bytes_.append(v);
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what Writer wrote; after a short read everything is zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T value() {
    T v{};
    if (left_.size() < sizeof v) {
      fail();
      return v;
    }
    std::memcpy(&v, left_.data(), sizeof v);
    left_.remove_prefix(sizeof v);
    return v;
  }
  std::string text(size_t bytes_max) {
    const size_t size = value<uint16_t>();
    if (size > bytes_max || size > left_.size()) {
      fail();
      return {};
    }
    std::string v(left_.substr(0, size));
    left_.remove_prefix(size);
    return v;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  void fail() {
    ok_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool ok_ = true;
};

Error corrupt(std::string what) {
  return error(Code::corrupt, "transport address: " + std::move(what),
               "ask the peer for its address again");
}

Status check(const Address& address) {
  if (address.incarnation == 0) return corrupt("the incarnation is 0");
  if (address.tcp_worker.empty() != (address.data_socket.port == 0)) {
    return corrupt("its TCP worker and its data socket contradict each other");
  }
  const PoolAddress& pool = address.pool;
  if (pool.block_bytes == 0) {
    if (pool != PoolAddress{}) return corrupt("it describes a pool without a block size");
    return {};
  }
  if (pool.block_bytes > limits::block_bytes_max) {
    return corrupt(concat("a block of ", pool.block_bytes, " bytes is over the limit of ",
                          limits::block_bytes_max));
  }
  if (pool.num_pages == 0) return corrupt("its pool has no pages");
  const uint64_t bytes = pool.block_bytes * pool.num_pages;  // < 2^30 * 2^32
  if (pool.base == 0 || pool.base > UINT64_MAX - bytes) {
    return corrupt("its pool does not fit into the address space");
  }
  if (pool.rkey.empty()) {
    if (pool.stamp != 0) return corrupt("it has a stamp but no memory key");
  } else if (pool.stamp < pool.base + bytes || pool.stamp > UINT64_MAX - 64) {
    return corrupt("its stamp lies inside the pool");
  }
  return {};
}

}  // namespace

std::string encode(const Address& address) {
  Writer out;
  out.value(address_magic);
  out.value(address_version);
  out.value(address.incarnation);
  out.value(address.host.boot_id);
  out.value(address.host.pid_namespace);
  out.value(address.host.ipc_namespace);
  out.value(address.host.user_namespace);
  out.value(address.host.uid);
  out.text(address.shm_worker);
  out.text(address.tcp_worker);
  out.value(address.data_socket.ip);
  out.value(address.data_socket.port);
  out.value(address.pool.base);
  out.value(address.pool.block_bytes);
  out.value(address.pool.num_pages);
  out.value(address.pool.stamp);
  out.text(address.pool.rkey);
  std::string blob = std::move(out).take();
  const uint32_t crc = checksum(blob);
  blob.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return blob;
}

Result<Address> parse_address(std::string_view blob) {
  if (blob.size() > limits::address_bytes_max) {
    return corrupt(concat(blob.size(), " bytes are over the limit of ", limits::address_bytes_max));
  }
  if (blob.size() < sizeof address_magic + sizeof address_version + sizeof(uint32_t)) {
    return corrupt(concat("only ", blob.size(), " bytes"));
  }
  uint32_t crc;
  std::memcpy(&crc, blob.data() + blob.size() - sizeof crc, sizeof crc);
  blob.remove_suffix(sizeof crc);
  if (checksum(blob) != crc) return corrupt("its checksum does not match");
  Reader in(blob);
  if (in.value<uint32_t>() != address_magic) return corrupt("it does not begin with TRPA");
  if (const auto version = in.value<uint16_t>(); version != address_version) {
    return error(Code::unsupported,
                 concat("transport address: version ", version, ", this is ", address_version),
                 "run the same release on both ends");
  }
  Address address;
  address.incarnation = in.value<uint64_t>();
  address.host.boot_id = in.value<decltype(address.host.boot_id)>();
  address.host.pid_namespace = in.value<uint64_t>();
  address.host.ipc_namespace = in.value<uint64_t>();
  address.host.user_namespace = in.value<uint64_t>();
  address.host.uid = in.value<uint32_t>();
  address.shm_worker = in.text(limits::worker_address_bytes_max);
  address.tcp_worker = in.text(limits::worker_address_bytes_max);
  address.data_socket.ip = in.value<uint32_t>();
  address.data_socket.port = in.value<uint16_t>();
  address.pool.base = in.value<uint64_t>();
  address.pool.block_bytes = in.value<uint64_t>();
  address.pool.num_pages = in.value<uint32_t>();
  address.pool.stamp = in.value<uint64_t>();
  address.pool.rkey = in.text(limits::rkey_bytes_max);
  if (!in.ok()) return corrupt("it ends too early or a part is too long");
  if (!in.at_end()) return corrupt("bytes follow its end");
  TROUPE_TRY(check(address));
  return address;
}

}  // namespace troupe::transport
