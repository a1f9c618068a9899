// Which layers of a GGUF model have a window.
#include <doctest/doctest.h>

#include "model/gguf_config.hpp"
#include "model/gguf_config_parts.hpp"
#include "tests/support/gguf_format.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr uint32_t type_bool = 7, type_i32 = 5, type_array = 9;
const std::string pattern_key = ".attention.sliding_window_pattern";

GgufWriter file_of(const std::string& architecture) {
  GgufWriter writer;
  writer.add_string("general.architecture", architecture);
  writer.add_u32(architecture + ".attention.sliding_window", 512);
  return writer;
}

template <class T>
void add_array(GgufWriter& writer, const std::string& key, uint32_t type,
               const std::vector<T>& elements) {
  Bytes bytes;
  put<uint32_t>(bytes, type);
  put<uint64_t>(bytes, elements.size());
  for (const T element : elements) put(bytes, element);
  writer.pairs.push_back({key, type_array, bytes});
}

/// 'w' for each layer with a window, '.' for one without; else the error's text.
std::string layers_of(const GgufWriter& writer, uint32_t num_layers) {
  const Bytes bytes = writer.build();
  const auto file = model::GgufFile::parse(bytes);
  REQUIRE(file.ok());
  const auto family = model::gguf_family(*file);
  REQUIRE(family.ok());
  const model::GgufKeys keys(*file, std::string(family->gguf.at(0)));
  model::ModelConfig config;
  config.num_layers = num_layers;
  if (const Status read = model::read_gguf_layers(keys, *family, config); !read.ok()) {
    return read.error().message();
  }
  std::string text;
  for (const model::LayerConfig& layer : config.layers) {
    REQUIRE((layer.window == 0 || layer.window == 512));
    text += layer.window == 0 ? '.' : 'w';
  }
  return text;
}

}  // namespace

TEST_CASE("without a pattern a family's own holds") {
  CHECK(layers_of(file_of("gemma3"), 8) == "wwwww.ww");
  CHECK(layers_of(file_of("gemma2"), 4) == "w.w.");
  CHECK(layers_of(file_of("gpt-oss"), 4) == "w.w.");
}

TEST_CASE("a pattern that is a number is a period whose last layer has no window") {
  const auto with = [](const std::string& architecture, uint32_t period) {
    GgufWriter writer = file_of(architecture);
    writer.add_u32(architecture + pattern_key, period);
    return layers_of(writer, 8);
  };
  CHECK(with("gemma3", 6) == "wwwww.ww");
  CHECK(with("gemma3", 4) == "www.www.");
  CHECK(with("gemma3", 1) == "........");
  CHECK(with("gemma3", 0) == "wwwwwwww");
  CHECK(with("gpt-oss", 3) == "ww.ww.ww");
  CHECK(with("gemma3", UINT32_MAX).find("sliding_window_pattern") != std::string::npos);
}

TEST_CASE("a pattern may name each layer") {
  GgufWriter flags = file_of("gemma3");
  add_array<uint8_t>(flags, "gemma3" + pattern_key, type_bool, {1, 0, 0, 1, 1});
  CHECK(layers_of(flags, 5) == "w..ww");
  GgufWriter numbers = file_of("gemma2");
  add_array<int32_t>(numbers, "gemma2" + pattern_key, type_i32, {0, 0, 1});
  CHECK(layers_of(numbers, 3) == "..w");
}

TEST_CASE("a pattern that fits nothing is refused with its key") {
  GgufWriter longer = file_of("gemma3");
  add_array<uint8_t>(longer, "gemma3" + pattern_key, type_bool, {1, 0, 0});
  CHECK(layers_of(longer, 2).find("has 3 elements, the model has 2 layers") != std::string::npos);
  GgufWriter large = file_of("gemma3");
  add_array<int32_t>(large, "gemma3" + pattern_key, type_i32, {1, -1});
  CHECK(layers_of(large, 2).find("element 1 of the metadata key gemma3") != std::string::npos);
  GgufWriter text = file_of("gemma3");
  text.add_string("gemma3" + pattern_key, "local");
  CHECK(layers_of(text, 2).find("has the type string") != std::string::npos);
}
