#include <cmath>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

/// The best experts of a group decide, unless the file says that groups do not matter.
Status read_groups(const ConfigFields& fields, const Family& family, ExpertsConfig& e) {
  TROUPE_ASSIGN(const auto groups, fields.count("n_group", 1, limits::experts_max));
  TROUPE_ASSIGN(const auto kept, fields.count("topk_group", 1, limits::experts_max));
  e.groups = groups.value_or(1);
  e.groups_kept = kept.value_or(e.groups);
  e.group_top = family.group_top;
  TROUPE_ASSIGN(const auto given, fields.text("topk_method"));
  const std::string method = given.value_or("noaux_tc");
  if (method == "group_limited_greedy" || method == "noaux_tc") return {};
  if (method != "greedy") {
    return error(Code::unsupported,
                 concat(fields.where(), ": topk_method is ", model::quoted(method)),
                 "supported: greedy, group_limited_greedy, noaux_tc");
  }
  e.groups = e.groups_kept = 1;
  return {};
}

}  // namespace

Status read_json_experts(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  ExpertsConfig& e = config.experts;
  e.routing = *family.routing;
  TROUPE_ASSIGN(
      e.count,
      fields.required(fields.first_of({"num_local_experts", "n_routed_experts", "num_experts"}), 1,
                      limits::experts_max));
  TROUPE_ASSIGN(e.per_token, fields.required("num_experts_per_tok", 1, limits::experts_max));
  const auto size = fields.first_of({"moe_intermediate_size", "intermediate_size"});
  TROUPE_ASSIGN(e.ffn_size, fields.required(size, 1, limits::ffn_max));
  if (family.has(Part::shared_gate)) {
    TROUPE_ASSIGN(const auto shared, fields.count("n_shared_experts", 0, limits::experts_max));
    const uint64_t shared_size = uint64_t{shared.value_or(0)} * e.ffn_size;
    if (shared_size > limits::ffn_max) {
      return error(Code::exhausted,
                   concat(fields.where(), ": ", *shared, " shared experts of ", e.ffn_size),
                   concat("at most ", limits::ffn_max, " together"));
    }
    e.shared_ffn_size = static_cast<uint32_t>(shared_size);
  }
  TROUPE_ASSIGN(const auto normalized, fields.boolean("norm_topk_prob"));
  e.normalized = normalized.value_or(false);
  TROUPE_ASSIGN(const auto scale, fields.number("routed_scaling_factor"));
  e.scale = static_cast<float>(scale.value_or(1.0));
  if (!(e.scale > 0.0f && e.scale <= 1e6f)) {
    return fields.bad("routed_scaling_factor", concat(*scale), "a positive number up to 1e6");
  }
  TROUPE_TRY(read_groups(fields, family, e));
  return check_experts(e, fields.where());
}

Status check_experts(const ExpertsConfig& e, const std::string& where) {
  if (e.per_token > e.count) {
    return error(Code::corrupt, concat(where, ": ", e.per_token, " experts per token of ", e.count),
                 concat("at most ", e.count));
  }
  if (e.count % e.groups != 0 || e.groups_kept > e.groups) {
    return error(Code::corrupt,
                 concat(where, ": ", e.count, " experts in ", e.groups, " groups of which ",
                        e.groups_kept, " are kept"),
                 "whole groups, and no more kept than there are");
  }
  const uint32_t members = e.count / e.groups;
  if (e.groups > 1 && (members < e.group_top || e.groups_kept * members < e.per_token)) {
    return error(Code::corrupt,
                 concat(where, ": ", e.groups_kept, " groups of ", members, " experts for ",
                        e.per_token, " per token"),
                 concat("at least ", e.group_top, " experts a group, and enough in those kept"));
  }
  return {};
}

}  // namespace troupe::model
