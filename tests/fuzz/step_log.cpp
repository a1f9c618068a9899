// Any lines: what the reader takes is written as the same step again.
#include "engine/step_log.hpp"

#include <cstdlib>

using namespace troupe;

namespace {

void check(const engine::LoggedStep& step, std::string_view numerics_id) {
  engine::StepLogReader again;
  const std::string text = engine::step_log_header(numerics_id) + to_text(step);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (!again.take(std::string_view(text).substr(begin, end - begin)).ok()) std::abort();
    begin = end + 1;
  }
  if (!again.finish() || !(again.last() == step)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  engine::StepLogReader reader;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto whole = reader.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!whole) {
      if (whole.error().what.empty() || whole.error().hint.empty()) std::abort();
      return 0;
    }
    if (*whole) check(reader.step(), reader.numerics_id());
  }
  if (reader.finish()) check(reader.last(), reader.numerics_id());
  return 0;
}
