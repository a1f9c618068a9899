// What tests of the readers say often: this file fails, with that in the message.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "model/parse_model.hpp"
#include "tests/support/gguf_writer.hpp"

namespace troupe::testing {

/// Small enough to be parsed thousands of times.
inline TinyLlamaOptions smallest() {
  TinyLlamaOptions o;
  o.layers = 1;
  o.hidden = 32;
  o.heads = 2;
  o.kv_heads = 1;
  o.head_dim = 16;
  o.ffn = 32;
  o.vocab = 8;
  o.type = model::TensorType::q8_0;
  o.tokenizer = false;
  return o;
}

/// The error that parsing gives; an error with code ok where it gives a model.
inline Error parse_error(const Bytes& bytes) {
  const auto parsed = model::parse_model(bytes);
  return parsed.ok() ? error(Code::ok, "the model was accepted") : parsed.error();
}

/// Checks the code and that sentence and hint hold the two texts.
inline void check_error(const Error& error, Code code, const std::string& what,
                        const std::string& hint) {
  CAPTURE(error.what);
  CAPTURE(error.hint);
  CHECK(name(error.code) == std::string(name(code)));
  CHECK(error.what.find(what) != std::string::npos);
  CHECK(error.hint.find(hint) != std::string::npos);
}

inline void check_refused(const GgufWriter& writer, Code code, const std::string& what,
                          const std::string& hint) {
  check_error(parse_error(writer.build()), code, what, hint);
}

}  // namespace troupe::testing
