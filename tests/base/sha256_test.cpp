#include "base/sha256.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace troupe;

TEST_CASE("sha256 gives the published digests") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 is the same however the input is cut") {
  std::string text;
  for (int i = 0; i < 700; ++i) text.push_back(static_cast<char>(i * 31));
  const Digest whole = sha256(text);
  for (const size_t step :
       {size_t{1}, size_t{7}, size_t{63}, size_t{64}, size_t{65}, size_t{200}}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += step) {
      hash.update(std::string_view(text).substr(at, step));
    }
    CHECK(hash.finish() == whole);
  }
}

TEST_CASE("an integer is appended as eight bytes, least significant first") {
  Sha256 hash;
  hash.update_u64(0x0102030405060708u);
  CHECK(hash.finish() == sha256("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST_CASE("the SHA extensions give the bits of the scalar version") {
  if (!cpu_has_shani()) {
    MESSAGE("SKIPPED: this CPU has no SHA extensions");
    return;
  }
  std::vector<uint8_t> data(64 * 9);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * i + 3 * i);
  for (size_t blocks = 0; blocks <= 9; ++blocks) {
    std::array<uint32_t, 8> a = {1, 2, 3, 0xffffffff, 5, 6, 0x80000000, 8};
    std::array<uint32_t, 8> b = a;
    sha256_blocks_scalar(a, data.data(), blocks);
    sha256_blocks_shani(b, data.data(), blocks);
    CHECK(a == b);
  }
}

TEST_CASE("hmac_sha256 gives the vectors of RFC 4231") {
  CHECK(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_sha256(std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
