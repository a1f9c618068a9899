#include <algorithm>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

/// Reads what differs from layer to layer.
class LayersReader {
 public:
  LayersReader(const ConfigFields& fields, const Family& family, ModelConfig& config)
      : fields_(fields), family_(family), config_(config), count_(config.num_layers) {}

  Status read() {
    config_.layers.assign(count_, LayerConfig{});
    TROUPE_TRY(read_windows());
    TROUPE_TRY(read_nope());
    if (family_.routing) TROUPE_TRY(read_expert_layers());
    if (family_.indexer) TROUPE_TRY(read_selections());
    return {};
  }

 private:
  Status read_windows() {
    if (family_.windows == Windows::none) return {};
    TROUPE_ASSIGN(const auto window, fields_.count("sliding_window", 1, limits::context_max));
    TROUPE_ASSIGN(const auto used, fields_.boolean("use_sliding_window"));
    TROUPE_ASSIGN(const auto types, fields_.texts("layer_types", count_));
    if (types) return read_types(*types, window);
    if (!window || !used.value_or(true)) return {};
    TROUPE_ASSIGN(const auto first, fields_.count("max_window_layers", 0, limits::layers_max));
    const auto key = fields_.first_of({"_sliding_window_pattern", "sliding_window_pattern"});
    TROUPE_ASSIGN(const auto pattern, fields_.count(key, 1, limits::layers_max));
    for (uint32_t i = 0; i < count_; ++i) {
      const bool windowed =
          family_.windows == Windows::all ||
          (family_.windows == Windows::alternate && i % 2 == 0) ||
          (family_.windows == Windows::pattern && (i + 1) % pattern.value_or(6) != 0) ||
          (family_.windows == Windows::upper && i >= first.value_or(0));
      if (windowed) set_window(i, *window);
    }
    return {};
  }

  Status read_types(const std::vector<std::string>& types, std::optional<uint32_t> window) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (types[i] == "full_attention") continue;
      if (types[i] != "sliding_attention") {
        return error(Code::unsupported,
                     concat(fields_.where(), ": layer_types has ", model::quoted(types[i])),
                     "supported: full_attention, sliding_attention");
      }
      if (!window) {
        return fields_.bad("sliding_window", "missing",
                           concat("a number of tokens, since layer ", i, " has a window"));
      }
      set_window(i, *window);
    }
    return {};
  }

  void set_window(uint32_t layer, uint32_t window) {
    config_.layers[layer].window = window;
    config_.layers[layer].local_rope = family_.local_rope;
  }

  Status read_nope() {
    if (family_.nope_interval == 0) return {};
    TROUPE_ASSIGN(const auto flags, fields_.numbers("no_rope_layers", count_));
    TROUPE_ASSIGN(const auto interval,
                  fields_.count("no_rope_layer_interval", 1, limits::layers_max));
    for (uint32_t i = 0; i < count_; ++i) {
      // 1 stands for a layer that rotates, whatever the key's name says.
      config_.layers[i].rotates =
          flags ? (*flags)[i] != 0.0 : (i + 1) % interval.value_or(family_.nope_interval) != 0;
    }
    return {};
  }

  Status read_expert_layers() {
    TROUPE_ASSIGN(const auto types, fields_.texts("mlp_layer_types", count_));
    TROUPE_ASSIGN(const auto dense, fields_.count("first_k_dense_replace", 0, limits::layers_max));
    TROUPE_ASSIGN(const auto step, fields_.count("decoder_sparse_step", 1, limits::layers_max));
    TROUPE_ASSIGN(const auto frequency, fields_.count("moe_layer_freq", 1, limits::layers_max));
    for (uint32_t i = 0; i < count_; ++i) {
      if (types && (*types)[i] != "dense" && (*types)[i] != "sparse") {
        return fields_.bad("mlp_layer_types", concat("a list with ", model::quoted((*types)[i])),
                           "dense or sparse for each layer");
      }
      config_.layers[i].experts = types
                                      ? (*types)[i] == "sparse"
                                      : i >= dense.value_or(0) && (i + 1) % step.value_or(1) == 0 &&
                                            i % frequency.value_or(1) == 0;
    }
    return read_dense_layers();
  }

  /// "mlp_only_layers": the numbers of layers without experts.
  Status read_dense_layers() {
    const Json* list = fields_.find("mlp_only_layers");
    if (list == nullptr) return {};
    if (!list->is_array()) {
      return fields_.bad("mlp_only_layers", list->kind_name(), "a list of layers");
    }
    for (const Json& item : list->items()) {
      const auto layer = item.unsigned_integer();
      if (!layer || *layer >= count_) {
        return fields_.bad("mlp_only_layers", concat("a list with ", item.text()),
                           concat("layers are 0 to ", count_ - 1));
      }
      config_.layers[*layer].experts = false;
    }
    return {};
  }

  Status read_selections() {
    TROUPE_ASSIGN(const auto types, selection_types());
    for (uint32_t i = 0; i < count_; ++i) {
      if (types[i] != "full" && types[i] != "shared") {
        return fields_.bad("indexer_types", concat("a list with ", model::quoted(types[i])),
                           "full or shared for each layer");
      }
      config_.layers[i].selection = types[i] == "full" ? Selection::own : Selection::shared;
    }
    if (config_.layers[0].selection == Selection::shared) {
      return fields_.bad("indexer_types", "\"shared\" for layer 0",
                         "the first layer has a selection of its own");
    }
    return {};
  }

  Result<std::vector<std::string>> selection_types() {
    TROUPE_ASSIGN(auto types, fields_.texts("indexer_types", count_));
    if (types) return std::move(*types);
    TROUPE_ASSIGN(const auto pattern, pattern_of_text());
    if (!pattern.empty()) return pattern;
    TROUPE_ASSIGN(const auto frequency, fields_.count("index_topk_freq", 0, limits::layers_max));
    TROUPE_ASSIGN(const auto offset,
                  fields_.count("index_skip_topk_offset", 0, limits::layers_max));
    const uint32_t every = std::max(frequency.value_or(1), 1u), skip = offset.value_or(2);
    std::vector<std::string> made;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint32_t after = i + 1 > skip ? i + 1 - skip : 0;
      made.emplace_back(after % every == 0 ? "full" : "shared");
    }
    return made;
  }

  /// "index_topk_pattern": "FFSF", or a list of the words.
  Result<std::vector<std::string>> pattern_of_text() {
    constexpr const char* key = "index_topk_pattern";
    const Json* value = fields_.find(key);
    std::vector<std::string> types;
    if (value == nullptr) return types;
    if (!value->is_string()) {
      TROUPE_ASSIGN(const auto list, fields_.texts(key, count_));
      return *list;
    }
    for (const char letter : value->text()) types.emplace_back(letter == 'F' ? "full" : "shared");
    if (types.size() == count_) return types;
    return fields_.bad(key, model::quoted(value->text()), concat(count_, " letters F or S"));
  }

  const ConfigFields& fields_;
  const Family& family_;
  ModelConfig& config_;
  uint32_t count_;
};

}  // namespace

Status read_json_layers(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  return LayersReader(fields, family, config).read();
}

}  // namespace troupe::model
