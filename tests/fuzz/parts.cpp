// Any sequence of parts: what comes out is exactly what was put in, and what is held stays below
// what arrived. parts.cpp is compiled in here, so that the target needs no actor library.
#include "actors/parts.cpp"

#include <cstdint>
#include <cstdlib>
#include <map>

using namespace troupe;
using namespace troupe::actors;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  PartsAssembler assembler(4, 1000);
  std::map<uint64_t, std::string> sent;
  uint64_t arrived = 0;
  TimeUs now = 0;
  // A part: kind, transfer, total, offset (two bytes each, offset 0xffff = the right one), length.
  while (size >= 7) {
    const auto kind = static_cast<BulkKind>(data[0] & 7);
    const uint64_t transfer = data[1] & 7;
    const uint64_t total = static_cast<uint64_t>(data[2]) | static_cast<uint64_t>(data[3]) << 8 |
                           static_cast<uint64_t>(data[0] >> 3) << 24;
    uint64_t offset = static_cast<uint64_t>(data[4]) | static_cast<uint64_t>(data[5]) << 8;
    if (offset == 0xffff) offset = sent[transfer].size();
    const size_t length = std::min<size_t>(data[6], size - 7);
    const std::string_view bytes(reinterpret_cast<const char*>(data + 7), length);
    data += 7 + length;
    size -= 7 + length;
    now += 50;
    if (offset == 0) sent[transfer].clear();
    auto result = assembler.add(kind, transfer, total, offset, bytes, now);
    arrived += length;
    if (!result.ok()) {
      if (result.error().what.empty() || result.error().hint.empty()) std::abort();
      sent[transfer].clear();
    } else {
      sent[transfer].append(bytes);
      if (*result) {
        if (**result != sent[transfer] || sent[transfer].size() != total) std::abort();
        sent[transfer].clear();
      }
    }
    if (assembler.num_open() > 4 || assembler.bytes_held() > arrived) std::abort();
    if ((total & 63) == 63) assembler.expire(now);
  }
  return 0;
}
