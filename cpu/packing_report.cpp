#include "cpu/packing_report.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "model/kernel_type.hpp"

namespace troupe::cpu {
namespace {

constexpr const char* component = "weights";
constexpr TimeUs tell_every_us = 2'000'000;

/// Bytes per microsecond are MB/s.
std::string speed_text(uint64_t bytes, TimeUs us) {
  const uint64_t hundredths = bytes / static_cast<uint64_t>(std::max<TimeUs>(us, 1)) / 10;
  return concat(hundredths / 100, ".", hundredths % 100 / 10, hundredths % 10, " GB/s");
}

}  // namespace

void PackingReport::add(const model::Tensor& tensor, uint64_t packed_bytes) {
  const uint64_t stored = tensor.bytes();
  stored_bytes_ += stored;
  packed_bytes_ += packed_bytes;
  const model::TensorType made =
      mode_ == ComputeMode::exact ? model::TensorType::f32 : model::kernel_type(tensor.type);
  if (made != tensor.type) {
    Amount& amount = converted_[{model::info(tensor.type).name, model::info(made).name}];
    amount.stored += stored;
    amount.packed += packed_bytes;
  }
  const TimeUs passed_us = now_us() - started_us_;
  if (passed_us - told_us_ < tell_every_us) return;
  told_us_ = passed_us;
  log_info(component, concat("packed ", bytes_text(packed_bytes_), " of ", bytes_text(total_bytes_),
                             ", ", speed_text(stored_bytes_, passed_us)));
}

void PackingReport::finish() const {
  const TimeUs passed_us = now_us() - started_us_;
  log_info(component, concat("packed ", bytes_text(packed_bytes_), " in ", passed_us / 1000,
                             " ms, reading ", speed_text(stored_bytes_, passed_us)));
  const std::string converted = conversions();
  if (!converted.empty()) log_info(component, converted);
}

std::string PackingReport::conversions() const {
  std::string text;
  for (const auto& [types, amount] : converted_) {
    if (!text.empty()) text += "; ";
    text += concat(types.first, " computed as ", types.second, ": ", bytes_text(amount.stored),
                   " become ", bytes_text(amount.packed));
  }
  return text;
}

Status check_weights_fit(uint64_t bytes) {
  const auto available = available_memory();
  log_info(component, concat("packed weights take ", bytes_text(bytes), ", ",
                             available ? bytes_text(*available) : std::string("an unknown amount"),
                             " of memory left"));
  if (!available || bytes <= *available) return {};
  return error(Code::exhausted,
               concat("the packed weights take ", bytes_text(bytes), ", and ",
                      bytes_text(*available), " of memory are left"),
               "a machine with more memory, a smaller type, or --compute fast");
}

}  // namespace troupe::cpu
