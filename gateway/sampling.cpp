// The parameters that several APIs share.
#include "engine/sampling.hpp"

#include <charconv>

#include "gateway/generation.hpp"
#include "gateway/limits.hpp"
#include "text/stop_matcher.hpp"

namespace troupe::gateway {
namespace {

namespace most = engine::limits;

void read_bias(Fields& fields, const actors::ModelCard& card, engine::SamplingParams& sampling) {
  const Json* bias = fields.object("logit_bias");
  if (bias == nullptr) return;
  if (bias->size() > most::logit_bias_max) {
    fields.refuse("logit_bias", concat("has ", bias->size(), " entries, expected at most ",
                                       most::logit_bias_max));
    return;
  }
  for (const auto& [name, value] : bias->items()) {
    uint32_t id = 0;
    const char* end = name.data() + name.size();
    const auto [stop, failure] = std::from_chars(name.data(), end, id);
    if (failure != std::errc() || stop != end || id >= card.vocab_size) {
      fields.refuse("logit_bias", concat("has the token id ", text_of(name), ", expected 0 to ",
                                         card.vocab_size - 1));
      return;
    }
    if (!value.is_number() || !(std::abs(value.get<double>()) <= 100)) {
      fields.refuse("logit_bias", concat("of token ", id, " is ", text_of(value),
                                         ", expected a number from -100 to 100"));
      return;
    }
    sampling.logit_bias.emplace_back(static_cast<int32_t>(id), value.get<float>());
  }
}

}  // namespace

uint32_t output_max(const actors::ModelCard& card) {
  return std::max(1u, std::min(card.output_tokens_max, card.context_max));
}

void read_model(Fields& fields, const actors::ModelCard& card, std::string& model,
                std::optional<ApiError>& error) {
  fields.text("model", model);
  if (error) return;
  if (fields.find("model") == nullptr) {
    fields.refuse("model", concat("is missing, expected \"", card.name, "\""),
                  "missing_required_parameter");
  } else if (model != card.name) {
    error = ApiError{404,
                     concat("the model ", text_of(model), " does not exist; this server has \"",
                            card.name, "\""),
                     "model", "model_not_found"};
  }
}

void read_stop(Fields& fields, const char* name, std::vector<std::string>& stop) {
  const Json* value = fields.find(name);
  if (value == nullptr) return;
  if (value->is_string()) {
    stop.push_back(value->get<std::string>());
  } else if (value->is_array()) {
    for (const Json& entry : *value) {
      if (!entry.is_string()) {
        fields.refuse(name, "has " + kind_of(entry) + ", expected strings", "invalid_type");
        return;
      }
      stop.push_back(entry.get<std::string>());
    }
  } else {
    fields.refuse(name, "is " + kind_of(*value) + ", expected a string or an array of strings",
                  "invalid_type");
    return;
  }
  const Status checked = text::check_stop_strings(stop);
  if (!checked) fields.refuse(name, "can't be taken: " + checked.error().message());
}

void read_sampling(Fields& fields, const actors::ModelCard& card,
                   actors::GenerateRequest& request) {
  engine::SamplingParams& sampling = request.sampling;
  fields.real("temperature", 0, most::temperature_max, sampling.temperature);
  fields.real("top_p", 0, 1, sampling.top_p, true);
  fields.real("min_p", 0, 1, sampling.min_p);
  fields.whole("top_k", -1, INT32_MAX, sampling.top_k);
  sampling.top_k = std::max(sampling.top_k, 0);
  fields.real("typical_p", 0, 1, sampling.typical_p, true);
  fields.real("presence_penalty", -2, 2, sampling.presence_penalty);
  fields.real("frequency_penalty", -2, 2, sampling.frequency_penalty);
  fields.real("repetition_penalty", 0, most::repetition_penalty_max, sampling.repetition_penalty,
              true);
  fields.whole("n", 1, most::choices_max, request.choices);
  request.has_seed = fields.whole("seed", INT64_MIN, INT64_MAX, sampling.seed);
  fields.flag("ignore_eos", sampling.ignore_eos);
  read_bias(fields, card, sampling);
  read_stop(fields, "stop", request.stop);
  uint32_t ignored = 0;
  fields.whole("priority", INT32_MIN, INT32_MAX, ignored);
}

}  // namespace troupe::gateway
