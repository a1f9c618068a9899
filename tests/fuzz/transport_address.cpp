// Transport addresses, frame headers and tickets: no bytes crash the parsers, and what parses
// encodes to the same bytes. The library itself needs UCX, so the parsers are compiled into this
// target.
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/crc32c.hpp"
#include "transport/address.cpp"  // NOLINT
#include "transport/frames.cpp"   // NOLINT
#include "transport/ticket.cpp"   // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe;
  using namespace troupe::transport;
  std::string blob(reinterpret_cast<const char*>(data), size);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(blob));
  if (parse_want(bytes)) (void)num_pieces(1, 1);
  (void)parse_data(bytes);
  (void)parse_refused(bytes);
  // Nobody finds the proof of a ticket by trying.
  TicketBook book("a key that is not in the corpus", 1);
  TicketHolder holder;
  if (book.check(bytes, holder) == TicketVerdict::good) std::abort();
  (void)parse_address(blob);
  // With the right checksum the bytes get past the first door.
  const uint32_t crc = crc32c(bytes);
  blob.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  if (const auto address = parse_address(blob); address.ok()) {
    if (encode(*address) != blob) std::abort();
  }
  return 0;
}
