// Writes GGUF files for tests. The parts are public so that a test can spoil any one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

using Bytes = std::vector<std::byte>;

/// Appends the little-endian bytes of a scalar.
template <class T>
void put(Bytes& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

/// Appends a GGUF string: u64 length, then the bytes.
inline void put_string(Bytes& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

struct GgufWriter {
  struct Pair {
    std::string key;
    uint32_t type = 0;  ///< gguf_metadata_value_type
    Bytes value;
  };
  struct TensorEntry {
    std::string name;
    std::vector<uint64_t> dims;  ///< contiguous dimension first
    uint32_t type = 0;           ///< ggml_type
    Bytes data;
    std::optional<uint64_t> offset;  ///< overrides the offset that build() would write
  };

  std::string magic = "GGUF";
  uint32_t version = 3;
  uint32_t alignment = 32;
  std::optional<uint64_t> tensor_count;  ///< overrides what the header announces
  std::optional<uint64_t> pair_count;
  std::vector<Pair> pairs;
  std::vector<TensorEntry> tensors;

  template <class T>
  void add_scalar(std::string key, uint32_t type, T value) {
    Bytes bytes;
    put(bytes, value);
    pairs.push_back({std::move(key), type, std::move(bytes)});
  }
  void add_u32(std::string key, uint32_t value) { add_scalar(std::move(key), 4, value); }
  void add_f32(std::string key, float value) { add_scalar(std::move(key), 6, value); }
  void add_bool(std::string key, bool value) {
    add_scalar(std::move(key), 7, static_cast<uint8_t>(value));
  }
  void add_string(std::string key, std::string_view value) {
    Bytes bytes;
    put_string(bytes, value);
    pairs.push_back({std::move(key), 8, std::move(bytes)});
  }
  void add_strings(std::string key, const std::vector<std::string>& values) {
    Bytes bytes;
    put<uint32_t>(bytes, 8);
    put<uint64_t>(bytes, values.size());
    for (const std::string& value : values) put_string(bytes, value);
    pairs.push_back({std::move(key), 9, std::move(bytes)});
  }
  void add_i32s(std::string key, const std::vector<int32_t>& values) {
    Bytes bytes;
    put<uint32_t>(bytes, 5);
    put<uint64_t>(bytes, values.size());
    for (const int32_t value : values) put(bytes, value);
    pairs.push_back({std::move(key), 9, std::move(bytes)});
  }
  void add_tensor(std::string name, std::vector<uint64_t> dims, uint32_t type, Bytes data) {
    tensors.push_back({std::move(name), std::move(dims), type, std::move(data), std::nullopt});
  }

  /// The pair of that key; it must exist.
  Pair& pair(std::string_view key) {
    for (Pair& p : pairs) {
      if (p.key == key) return p;
    }
    std::abort();
  }
  void remove(std::string_view key) {
    std::erase_if(pairs, [&](const Pair& p) { return p.key == key; });
  }
  void set_u32(std::string_view key, uint32_t value) {
    Bytes bytes;
    put(bytes, value);
    pair(key) = {std::string(key), 4, std::move(bytes)};
  }
  TensorEntry& tensor(std::string_view name) {
    for (TensorEntry& t : tensors) {
      if (t.name == name) return t;
    }
    std::abort();
  }
  void remove_tensor(std::string_view name) {
    std::erase_if(tensors, [&](const TensorEntry& t) { return t.name == name; });
  }

  /// Everything before the tensor data, without the padding.
  [[nodiscard]] Bytes header() const {
    Bytes out;
    for (const char c : magic) out.push_back(static_cast<std::byte>(c));
    put(out, version);
    put<uint64_t>(out, tensor_count.value_or(tensors.size()));
    put<uint64_t>(out, pair_count.value_or(pairs.size()));
    for (const Pair& p : pairs) {
      put_string(out, p.key);
      put(out, p.type);
      out.insert(out.end(), p.value.begin(), p.value.end());
    }
    uint64_t offset = 0;
    for (const TensorEntry& t : tensors) {
      put_string(out, t.name);
      put(out, static_cast<uint32_t>(t.dims.size()));
      for (const uint64_t dim : t.dims) put(out, dim);
      put(out, t.type);
      put<uint64_t>(out, t.offset.value_or(offset));
      offset = padded(offset + t.data.size());
    }
    return out;
  }

  [[nodiscard]] Bytes build() const {
    Bytes out = header();
    for (const TensorEntry& t : tensors) {
      out.resize(padded(out.size()));
      out.insert(out.end(), t.data.begin(), t.data.end());
    }
    return out;
  }

 private:
  [[nodiscard]] uint64_t padded(uint64_t size) const {
    return (size + alignment - 1) / alignment * alignment;
  }
};

}  // namespace troupe::testing
