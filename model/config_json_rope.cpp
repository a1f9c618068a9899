#include <cmath>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/limits.hpp"
#include "model/rope.hpp"

namespace troupe::model {
namespace {

/// An object of rope parameters in either spelling: `object` for what it holds, `fields` for the
/// file's own keys.
class JsonRope {
 public:
  JsonRope(const ConfigFields& fields, const ConfigFields& object, uint32_t context)
      : fields_(fields), object_(object), context_(context) {}

  Result<RopeSpec> read(double base) {
    RopeSpec spec;
    spec.context = context_;
    TROUPE_ASSIGN(const auto own_base, object_.number("rope_theta"));
    spec.base = own_base.value_or(base);
    TROUPE_ASSIGN(const auto name, object_.text(object_.first_of({"rope_type", "type"})));
    TROUPE_ASSIGN(spec.scaling, rope_scaling_named(name.value_or("default")));
    TROUPE_TRY(read_contexts(spec));
    if (spec.scaling == RopeScaling::none) return spec;
    TROUPE_ASSIGN(spec.attention_factor, object_.number("attention_factor"));
    TROUPE_TRY(read_into("beta_fast", spec.beta_fast));
    TROUPE_TRY(read_into("beta_slow", spec.beta_slow));
    TROUPE_TRY(read_into("mscale", spec.mscale));
    TROUPE_TRY(read_into("mscale_all_dim", spec.mscale_all_dim));
    TROUPE_TRY(read_into("low_freq_factor", spec.low_frequency));
    TROUPE_TRY(read_into("high_freq_factor", spec.high_frequency));
    TROUPE_ASSIGN(const auto truncate, object_.boolean("truncate"));
    spec.truncate = truncate.value_or(true);
    return spec;
  }

  Status read_factors(RopeSpec& spec) {
    if (spec.scaling != RopeScaling::longrope) return {};
    TROUPE_ASSIGN(const auto shorter, object_.numbers("short_factor", spec.dim / 2));
    TROUPE_ASSIGN(const auto longer, object_.numbers("long_factor", spec.dim / 2));
    if (!shorter || !longer) {
      return object_.bad(shorter ? "long_factor" : "short_factor", "missing",
                         concat("a list of ", spec.dim / 2, " numbers"));
    }
    spec.short_factors = *shorter;
    spec.long_factors = *longer;
    return {};
  }

 private:
  Status read_into(std::string_view key, double& value) {
    TROUPE_ASSIGN(const auto found, object_.number(key));
    value = found.value_or(value);
    return {};
  }

  Status read_contexts(RopeSpec& spec) {
    constexpr const char* key = "original_max_position_embeddings";
    TROUPE_ASSIGN(const auto inner, object_.count(key, 1, limits::context_max));
    TROUPE_ASSIGN(const auto outer, fields_.count(key, 1, limits::context_max));
    spec.original_context = inner.value_or(outer.value_or(context_));
    // Dynamic NTK stretches from the context that the file names.
    if (spec.scaling == RopeScaling::dynamic) spec.original_context = inner.value_or(context_);
    TROUPE_ASSIGN(const auto factor, object_.number("factor"));
    if (factor) {
      spec.factor = *factor;
    } else if (spec.scaling == RopeScaling::longrope || spec.scaling == RopeScaling::yarn) {
      spec.factor = static_cast<double>(context_) / spec.original_context;
    } else if (spec.scaling != RopeScaling::none) {
      return object_.bad("factor", "missing", "a positive number");
    }
    return {};
  }

  const ConfigFields& fields_;
  const ConfigFields& object_;
  uint32_t context_;
};

/// The part of a head that is rotated.
Result<uint32_t> rotated_dim(const ConfigFields& fields, const ConfigFields& object,
                             uint32_t head_dim) {
  TROUPE_ASSIGN(const auto inner, object.number("partial_rotary_factor"));
  TROUPE_ASSIGN(const auto outer, fields.number("partial_rotary_factor"));
  const double part = inner.value_or(outer.value_or(1.0));
  const double dim = part * head_dim;
  if (!(dim >= 2.0 && dim <= head_dim) || static_cast<uint32_t>(dim) % 2 != 0) {
    return fields.bad("partial_rotary_factor", concat(part),
                      concat("a fraction of the ", head_dim, " elements that is even"));
  }
  return static_cast<uint32_t>(dim);
}

Result<RopeConfig> read_one(const ConfigFields& fields, const Json& object, const char* name,
                            double base, const Family& family, uint32_t rotated,
                            const ModelConfig& config) {
  const ConfigFields own(object, nullptr, concat(fields.where(), ": ", name));
  JsonRope reader(fields, own, config.context_max);
  TROUPE_ASSIGN(RopeSpec spec, reader.read(base));
  spec.pairing = family.pairing;
  spec.dim = rotated;
  if (rotated == 0) {
    TROUPE_ASSIGN(spec.dim, rotated_dim(fields, own, config.head_dim));
  }
  TROUPE_TRY(reader.read_factors(spec));
  return make_rope(spec);
}

/// DeepSeek's attention is scaled by yarn's factor, twice.
Status scale_latent(const ConfigFields& fields, const Json& object, ModelConfig& config) {
  if (config.latent.kv_rank == 0 || config.rope.scaling == RopeScaling::none) return {};
  const ConfigFields own(object, nullptr, fields.where());
  TROUPE_ASSIGN(const auto all, own.number("mscale_all_dim"));
  if (all.value_or(0.0) == 0.0) return {};
  const double scale = yarn_scale(config.rope.factor, *all);
  config.attention_scale = static_cast<float>(config.attention_scale * scale * scale);
  return {};
}

}  // namespace

Status read_json_rope(const ConfigFields& fields, const Family& family, uint32_t rotated,
                      ModelConfig& config) {
  static const Json empty;
  TROUPE_ASSIGN(const auto base, fields.number("rope_theta"));
  const double global_base = base.value_or(10000.0);
  const Json* object = fields.find(fields.first_of({"rope_parameters", "rope_scaling"}));
  const char* name = fields.in_file("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (object != nullptr && !object->is_object()) {
    return fields.bad(name, object->kind_name(), "an object");
  }
  const Json* global = object == nullptr ? &empty : object;
  const Json* local = &empty;
  if (const Json* nested = global->find("full_attention"); nested != nullptr) {
    local = object->find("sliding_attention");
    if (local == nullptr) local = &empty;
    global = nested;
  }
  TROUPE_ASSIGN(config.rope, read_one(fields, *global, name, global_base, family, rotated, config));
  TROUPE_TRY(scale_latent(fields, *global, config));
  if (!family.local_rope) return {};
  TROUPE_ASSIGN(const auto local_base, fields.number("rope_local_base_freq"));
  TROUPE_ASSIGN(config.local_rope, read_one(fields, *local, name, local_base.value_or(global_base),
                                            family, rotated, config));
  return {};
}

}  // namespace troupe::model
