#include "text/xz.hpp"

#include <lzma.h>

#include <algorithm>
#include <memory>

#include "base/concat.hpp"
#include "text/text_limits.hpp"

namespace troupe::text {

bool is_xz(std::string_view bytes) {
  return bytes.starts_with(
      std::string_view("\xfd"
                       "7zXZ\0",
                       6));
}

Result<std::string> unpack_xz(std::string_view packed, size_t bytes_max) {
  lzma_stream stream = LZMA_STREAM_INIT;
  const auto end = [](lzma_stream* s) { lzma_end(s); };
  const std::unique_ptr<lzma_stream, decltype(end)> guard(&stream, end);
  if (lzma_stream_decoder(&stream, limits::xz_memory_bytes_max, LZMA_CONCATENATED) != LZMA_OK) {
    return error(Code::internal, "the xz decoder does not start");
  }
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string out;
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    // Grows with what was unpacked, whatever the file announces.
    const size_t done = out.size();
    const size_t room = std::min(bytes_max + 1 - done, std::max<size_t>(done, 64 << 10));
    if (room == 0) {
      return error(Code::exhausted, "the xz file unpacks to too many bytes",
                   concat("at most ", bytes_max));
    }
    out.resize(done + room);
    stream.next_out = reinterpret_cast<uint8_t*>(out.data() + done);
    stream.avail_out = room;
    status = lzma_code(&stream, LZMA_FINISH);
    out.resize(done + room - stream.avail_out);
    if (status == LZMA_MEMLIMIT_ERROR) {
      return error(Code::exhausted, "the xz file asks for too much memory",
                   concat("at most ", limits::xz_memory_bytes_max, " bytes"));
    }
    if (status != LZMA_OK && status != LZMA_STREAM_END) {
      return error(Code::corrupt,
                   concat("the xz file is damaged (liblzma says ", static_cast<int>(status), ")"));
    }
  }
  if (out.size() > bytes_max) {
    return error(Code::exhausted, "the xz file unpacks to too many bytes",
                 concat("at most ", bytes_max));
  }
  return out;
}

}  // namespace troupe::text
