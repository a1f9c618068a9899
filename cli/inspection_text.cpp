#include <iomanip>
#include <sstream>

#include "base/concat.hpp"
#include "base/memory.hpp"
#include "cli/inspection.hpp"
#include "text/utf8.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;

/// "134515008" as "134.5 M".
std::string count_text(uint64_t count) {
  constexpr struct {
    uint64_t scale;
    const char* unit;
  } units[] = {{1'000'000'000'000, " T"}, {1'000'000'000, " B"}, {1'000'000, " M"}, {1'000, " K"}};
  for (const auto& unit : units) {
    if (count < unit.scale) continue;
    const uint64_t tenths = count / (unit.scale / 10);
    return concat(tenths / 10, ".", tenths % 10, unit.unit);
  }
  return std::to_string(count);
}

/// A linear scaling by 1, as GGUF files have it that scale nothing, is none.
const char* scaling_name(const model::RopeConfig& rope) {
  switch (rope.scaling) {
    case model::RopeScaling::none:
      return "none";
    case model::RopeScaling::linear:
      return rope.factor == 1.0 ? "none" : "linear";
    case model::RopeScaling::dynamic:
      return "dynamic";
    case model::RopeScaling::yarn:
      return "yarn";
    case model::RopeScaling::llama3:
      return "llama3";
    case model::RopeScaling::longrope:
      return "longrope";
  }
  return "none";
}

const char* pairing_name(model::RopePairing pairing) {
  return pairing == model::RopePairing::norm ? "neighbours" : "halves";
}

/// Text from a file as a terminal may show it.
std::string shown(const std::string& text) {
  std::string out = text::replace_invalid_utf8(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

class Lines {
 public:
  template <class... Parts>
  void add(const char* label, const Parts&... parts) {
    out_ << std::left << std::setw(14) << label << concat(parts...) << "\n";
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void add_config(const model::ModelConfig& c, Lines& lines) {
  lines.add("layers", c.num_layers, ", hidden ", c.hidden_size, ", feed-forward ", c.ffn_size,
            ", vocabulary ", c.vocab_size);
  lines.add("heads", c.num_heads, ", of keys and values ", c.num_kv_heads, ", of ", c.head_dim,
            " elements", c.latent.kv_rank != 0 ? " (latent attention)" : "");
  if (c.experts.count != 0) {
    lines.add("experts", c.experts.count, ", ", c.experts.per_token, " for each token, of ",
              c.experts.ffn_size, c.experts.shared_ffn_size != 0 ? ", and a shared one" : "");
  }
  lines.add("context", c.context_max, " tokens");
  const model::RopeConfig& r = c.rope;
  lines.add("RoPE", "base ", r.base, ", ", r.dim, " elements, pairs of ", pairing_name(r.pairing),
            ", scaling ", scaling_name(r),
            r.factor != 1.0 ? concat(" x ", r.factor) : std::string());
}

Json config_json(const model::ModelConfig& c) {
  return {{"layers", c.num_layers},
          {"hidden", c.hidden_size},
          {"heads", c.num_heads},
          {"kv_heads", c.num_kv_heads},
          {"head_dim", c.head_dim},
          {"feed_forward", c.ffn_size},
          {"vocabulary", c.vocab_size},
          {"context", c.context_max},
          {"experts", c.experts.count},
          {"experts_per_token", c.experts.per_token},
          {"tied_embedding", c.tied_embedding},
          {"rope",
           {{"base", c.rope.base},
            {"dim", c.rope.dim},
            {"pairing", pairing_name(c.rope.pairing)},
            {"scaling", scaling_name(c.rope)},
            {"factor", c.rope.factor}}}};
}

}  // namespace

std::string inspection_text(const Inspection& i) {
  Lines lines;
  lines.add("model", i.name.empty() ? shown(i.path) : shown(i.name));
  lines.add("format", i.format, ", ", i.files, i.files == 1 ? " file, " : " files, ",
            bytes_text(i.file_bytes));
  lines.add("architecture", i.architecture.empty() ? "unknown" : shown(i.architecture));
  if (i.parameters != 0) lines.add("parameters", count_text(i.parameters));
  if (i.config) add_config(*i.config, lines);
  const char* label = "types";
  for (const TypeUse& use : i.types) {
    const bool converted = !use.computed.empty() && use.computed != use.stored;
    lines.add(label, use.stored, ": ", use.tensors, use.tensors == 1 ? " tensor, " : " tensors, ",
              count_text(use.parameters), ", ", bytes_text(use.bytes),
              converted ? concat(", computed as ", use.computed) : "");
    label = "";
  }
  if (i.config) {
    lines.add("tokenizer", i.tokenizer.empty() ? std::string("none")
                                               : concat(i.tokenizer, ", ", i.tokens, " tokens"));
    lines.add("template", i.chat_template ? "yes" : "none");
  }
  if (i.fast_weight_bytes != 0) {
    lines.add("weights", bytes_text(i.fast_weight_bytes), " packed for fast, ",
              bytes_text(i.exact_weight_bytes), " for exact");
  }
  for (const KvUse& kv : i.kv) {
    lines.add("KV", bytes_text(kv.f16_bytes), " for ", kv.tokens, " tokens in F16, ",
              bytes_text(kv.q8_0_bytes), " in Q8_0, ", bytes_text(kv.f32_bytes), " in F32",
              i.config && kv.tokens > i.config->context_max ? " (beyond its context)" : "");
  }
  if (i.available_bytes) lines.add("memory", bytes_text(*i.available_bytes), " left here");
  lines.add("served", i.refusal ? "no: " + shown(i.refusal->message()) : std::string("yes"));
  return lines.text();
}

Json inspection_json(const Inspection& i) {
  const auto clean = [](const std::string& text) { return text::replace_invalid_utf8(text); };
  Json types = Json::array();
  for (const TypeUse& use : i.types) {
    types.push_back({{"stored", use.stored},
                     {"computed", use.computed},
                     {"tensors", use.tensors},
                     {"parameters", use.parameters},
                     {"bytes", use.bytes}});
  }
  Json kv = Json::array();
  for (const KvUse& use : i.kv) {
    kv.push_back({{"tokens", use.tokens},
                  {"f16_bytes", use.f16_bytes},
                  {"q8_0_bytes", use.q8_0_bytes},
                  {"f32_bytes", use.f32_bytes}});
  }
  Json body = {{"path", clean(i.path)},
               {"format", i.format},
               {"files", i.files},
               {"file_bytes", i.file_bytes},
               {"architecture", clean(i.architecture)},
               {"name", clean(i.name)},
               {"parameters", i.parameters},
               {"types", std::move(types)},
               {"config", i.config ? config_json(*i.config) : Json()},
               {"tokenizer", i.tokenizer},
               {"tokens", i.tokens},
               {"chat_template", i.chat_template},
               {"memory",
                {{"fast_weight_bytes", i.fast_weight_bytes},
                 {"exact_weight_bytes", i.exact_weight_bytes},
                 {"kv", std::move(kv)},
                 {"available_bytes", i.available_bytes ? Json(*i.available_bytes) : Json()}}},
               {"served", !i.refusal}};
  body["refusal"] = nullptr;
  if (i.refusal) {
    body["refusal"] = {{"code", name(i.refusal->code)},
                       {"message", clean(i.refusal->what)},
                       {"hint", clean(i.refusal->hint)}};
  }
  return body;
}

}  // namespace troupe::cli
