// Every header byte of a small file is cut off or changed: an error or a valid model, never a
// crash.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/parse_model.hpp"
#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Reads everything that a model promises, so that a wrong view would be noticed.
float touch(const model::Model& m) {
  float sum = 0.0f;
  std::vector<float> row;
  const auto read = [&](const model::Tensor& tensor) {
    row.resize(tensor.cols);
    dequantize_row(tensor, tensor.rows - 1, row.data());
    sum += row.back();
  };
  read(m.weights.token_embedding);
  read(m.weights.output_norm);
  read(m.weights.output);
  for (const model::LayerWeights& layer : m.weights.layers) {
    for (const model::Tensor* tensor :
         {&layer.attention_norm, &layer.query, &layer.key, &layer.value, &layer.attention_output,
          &layer.ffn_norm, &layer.ffn.gate, &layer.ffn.up, &layer.ffn.down}) {
      read(*tensor);
    }
  }
  return sum;
}

GgufWriter with_tokenizer() {
  TinyLlamaOptions options = smallest();
  options.vocab = 262;
  options.tokenizer = true;
  options.rope_freqs = true;
  options.tied = true;
  return tiny_llama(options);
}

struct Outcome {
  size_t models = 0;
  size_t errors = 0;
};

void parse_into(const Bytes& bytes, Outcome& outcome) {
  const auto parsed = model::parse_model(bytes);
  if (parsed.ok()) {
    ++outcome.models;
    (void)touch(**parsed);
  } else {
    ++outcome.errors;
    CHECK(parsed.error().code != Code::internal);
    CHECK_FALSE(parsed.error().what.empty());
  }
}

Outcome flip(const GgufWriter& writer, const std::vector<uint8_t>& masks) {
  Bytes bytes = writer.build();
  const size_t header = writer.header().size();
  Outcome outcome;
  for (size_t i = 0; i < header; ++i) {
    for (const uint8_t mask : masks) {
      bytes[i] ^= std::byte{mask};
      parse_into(bytes, outcome);
      bytes[i] ^= std::byte{mask};
    }
  }
  return outcome;
}

}  // namespace

TEST_CASE("a file cut off anywhere in its header is an error") {
  for (const GgufWriter& writer : {tiny_llama(smallest()), with_tokenizer()}) {
    const Bytes bytes = writer.build();
    REQUIRE(parse_error(bytes).code == Code::ok);
    const size_t header = writer.header().size();
    for (size_t size = 0; size < header; ++size) {
      const Error failure =
          parse_error(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size)));
      CAPTURE(size);
      REQUIRE(failure.code == Code::corrupt);
      REQUIRE_FALSE(failure.hint.empty());
    }
  }
}

TEST_CASE("a file cut off anywhere in its tensors is an error") {
  const GgufWriter writer = tiny_llama(smallest());
  const Bytes bytes = writer.build();
  for (size_t size = writer.header().size(); size < bytes.size(); ++size) {
    const Error failure =
        parse_error(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size)));
    CAPTURE(size);
    REQUIRE(failure.code == Code::corrupt);
    REQUIRE(failure.what.find("beyond the file") != std::string::npos);
  }
}

TEST_CASE("any bit flipped in the header gives an error or a valid model") {
  const Outcome plain = flip(tiny_llama(smallest()), {1, 2, 4, 8, 16, 32, 64, 128, 255});
  CHECK(plain.errors > 8 * plain.models);
  const Outcome full = flip(with_tokenizer(), {1, 2, 4, 8, 16, 32, 64, 128, 255});
  CHECK(full.errors > full.models);
  // Names, texts and unused keys may change freely; a model must still come out of some.
  CHECK(full.models > 0);
}
