// Which experts a token passes: by hand, ties and groups included.
#include "cpu/route_experts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace troupe;
using cpu::ChosenExpert;
using model::ExpertsConfig;
using model::Routing;

namespace {

ExpertsConfig config_of(Routing routing, uint32_t count, uint32_t per_token) {
  ExpertsConfig config;
  config.routing = routing;
  config.count = count;
  config.per_token = per_token;
  return config;
}

std::vector<ChosenExpert> route(const ExpertsConfig& config, const std::vector<float>& logits,
                                const std::vector<float>& choice_bias = {}) {
  std::vector<ChosenExpert> chosen(config.per_token);
  cpu::route_experts(config, logits.data(), choice_bias, chosen.data());
  return chosen;
}

}  // namespace

TEST_CASE("softmax over all, renormalised or not, ascending by expert") {
  ExpertsConfig config = config_of(Routing::softmax, 4, 2);
  // e^0 + e^1 + e^2 + e^1 = 13.8256
  auto chosen = route(config, {0.0f, 1.0f, 2.0f, 1.0f});
  CHECK(chosen[0].expert == 1);  // the tie goes to the lower one
  CHECK(chosen[0].weight == doctest::Approx(0.1966119332).epsilon(1e-6));
  CHECK(chosen[1].expert == 2);
  CHECK(chosen[1].weight == doctest::Approx(0.5344466455).epsilon(1e-6));
  config.normalized = true;
  config.scale = 2.0f;
  chosen = route(config, {0.0f, 1.0f, 2.0f, 1.0f});
  CHECK(chosen[0].weight == doctest::Approx(2 * 0.2689414214).epsilon(1e-6));
  CHECK(chosen[1].weight == doctest::Approx(2 * 0.7310585786).epsilon(1e-6));
}

TEST_CASE("sigmoid: the bias chooses and does not weigh") {
  const ExpertsConfig config = config_of(Routing::sigmoid, 3, 1);
  const auto chosen = route(config, {0.0f, 1.0f, -1.0f}, {0.0f, 0.0f, 1.0f});
  CHECK(chosen[0].expert == 2);
  CHECK(chosen[0].weight == doctest::Approx(0.2689414214).epsilon(1e-6));
}

TEST_CASE("softmax over the chosen only") {
  const auto chosen = route(config_of(Routing::chosen_softmax, 4, 2), {3.0f, -5.0f, 1.0f, 2.0f});
  CHECK(chosen[0].expert == 0);
  CHECK(chosen[0].weight == doctest::Approx(0.7310585786).epsilon(1e-6));
  CHECK(chosen[1].expert == 3);
}

TEST_CASE("only the best groups are chosen from, scored by their best or their best two") {
  ExpertsConfig config = config_of(Routing::softmax, 6, 2);
  config.groups = 3;
  config.groups_kept = 1;
  const std::vector<float> logits = {3.0f, -9.0f, 2.5f, 2.4f, 0.0f, 0.0f};
  auto chosen = route(config, logits);
  CHECK(chosen[0].expert == 0);
  CHECK(chosen[1].expert == 1);
  config.group_top = 2;
  chosen = route(config, logits);
  CHECK(chosen[0].expert == 2);
  CHECK(chosen[1].expert == 3);
  // Equal groups: the lower one.
  config.routing = Routing::sigmoid;
  chosen = route(config, {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
  CHECK(chosen[0].expert == 0);
  CHECK(chosen[1].expert == 1);
}

TEST_CASE("a NaN reaches the weights and hurts nothing else") {
  const auto chosen = route(config_of(Routing::softmax, 4, 2), {NAN, 1.0f, 2.0f, 0.0f});
  CHECK(chosen[0].expert < 4);
  CHECK(chosen[1].expert < 4);
  CHECK(std::isnan(chosen[1].weight));
}
