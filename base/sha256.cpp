#include "base/sha256.hpp"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace troupe {
namespace {

constexpr std::array<uint32_t, 8> initial_state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t block_bytes = 64;

uint32_t load_big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

void compress_one(std::array<uint32_t, 8>& state, const uint8_t* data) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = load_big_endian(data + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15];
    const uint32_t b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                        ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

void compress(std::array<uint32_t, 8>& state, const uint8_t* data, size_t blocks) {
  static const bool fast = cpu_has_shani();
  if (fast) {
    sha256_blocks_shani(state, data, blocks);
  } else {
    sha256_blocks_scalar(state, data, blocks);
  }
}

}  // namespace

void sha256_blocks_scalar(std::array<uint32_t, 8>& state, const uint8_t* data, size_t blocks) {
  for (size_t i = 0; i < blocks; ++i) compress_one(state, data + i * block_bytes);
}

bool cpu_has_shani() {
#if defined(__x86_64__)
  // gcc 12 has no __builtin_cpu_supports("sha"): leaf 7, EBX bit 29.
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (b & (1u << 29)) != 0 && __builtin_cpu_supports("sse4.1") != 0 &&
         __builtin_cpu_supports("ssse3") != 0;
#else
  return false;
#endif
}

Sha256::Sha256() : state_(initial_state), buffer_{} {}

void Sha256::update(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  const size_t held = bytes_ % block_bytes;
  bytes_ += left;
  if (held != 0) {
    const size_t taken = std::min(left, block_bytes - held);
    std::copy_n(data, taken, buffer_.begin() + static_cast<std::ptrdiff_t>(held));
    data += taken;
    left -= taken;
    if (held + taken < block_bytes) return;
    compress(state_, buffer_.data(), 1);
  }
  if (left >= block_bytes) {
    compress(state_, data, left / block_bytes);
    data += left - left % block_bytes;
    left %= block_bytes;
  }
  std::copy_n(data, left, buffer_.begin());
}

void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text.data(), text.size())));
}

void Sha256::update_u64(uint64_t value) {
  std::array<uint8_t, 8> bytes;
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  update(std::as_bytes(std::span(bytes)));
}

Digest Sha256::finish() {
  const uint64_t bits = bytes_ * 8;
  std::array<uint8_t, 2 * block_bytes> tail{};
  const size_t held = bytes_ % block_bytes;
  std::copy_n(buffer_.begin(), held, tail.begin());
  tail[held] = 0x80;
  const size_t blocks = held + 9 <= block_bytes ? 1 : 2;
  for (size_t i = 0; i < 8; ++i) {
    tail[blocks * block_bytes - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  }
  compress(state_, tail.data(), blocks);
  Digest digest;
  for (size_t i = 0; i < 32; ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Digest sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
  std::array<uint8_t, block_bytes> padded{};
  if (key.size() > block_bytes) {
    const Digest short_key = sha256(key);
    std::copy(short_key.begin(), short_key.end(), padded.begin());
  } else {
    std::copy(key.begin(), key.end(), padded.begin());
  }
  std::array<uint8_t, block_bytes> inner = padded;
  std::array<uint8_t, block_bytes> outer = padded;
  for (uint8_t& byte : inner) byte ^= 0x36;
  for (uint8_t& byte : outer) byte ^= 0x5c;
  Sha256 first;
  first.update(std::as_bytes(std::span(inner)));
  first.update(message);
  const Digest digest = first.finish();
  Sha256 second;
  second.update(std::as_bytes(std::span(outer)));
  second.update(std::as_bytes(std::span(digest)));
  return second.finish();
}

}  // namespace troupe
