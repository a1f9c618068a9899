// Any text is a manifest or an error that names a line; and what was read can be planned.
#include "launch/manifest.hpp"

#include <cstdint>
#include <cstdlib>

#include "launch/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = troupe::launch::parse_manifest(text, "fuzz.yaml");
  if (!manifest.ok()) {
    if (!manifest.error().what.starts_with("fuzz.yaml:")) std::abort();
    return 0;
  }
  const auto plan = troupe::launch::make_plan(*manifest);
  if (plan.ok() && troupe::launch::to_json(*plan).empty()) std::abort();
  return 0;
}
