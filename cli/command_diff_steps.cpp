// diff-steps: where two runs part, from the logs that TROUPE_STEP_LOG makes.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "engine/step_diff.hpp"

namespace troupe::cli {
namespace {

using engine::LoggedPlace;
using engine::LoggedResult;
using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::string a, b;
  bool json = false;
};

/// Steps of many spans are cut to this many on the screen; --json has all.
constexpr size_t spans_shown_max = 8;

const char* kind_of(const LoggedResult& result) {
  return result.kind == LoggedResult::Kind::block ? "kv block" : "draw";
}

std::string bits_text(uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", bits);
  return text;
}

Json to_json(const LoggedPlace& place) {
  Json spans = Json::array();
  for (const engine::LoggedSpan& span : place.spans) {
    spans.push_back({{"sequence", span.sequence},
                     {"first_position", span.first_position},
                     {"tokens", span.tokens},
                     {"draws", span.draws}});
  }
  return {{"step", place.step},
          {"sequence", place.result.sequence},
          {"token", place.result.token},
          {"bits", bits_text(place.result.bits)},
          {"spans", std::move(spans)}};
}

Json to_json(const engine::StepComparison& found) {
  Json body = {{"equal", found.equal()},       {"steps_a", found.steps_a},
               {"steps_b", found.steps_b},     {"compared", found.compared},
               {"only_a", found.only_a},       {"only_b", found.only_b},
               {"differing", found.differing}, {"failures", found.failures}};
  if (found.first.has_value()) {
    const engine::StepDifference& first = *found.first;
    body["first"] = {{"kind", kind_of(first.a.result)},
                     {"position", first.a.result.position},
                     {"same_log", first.same_log},
                     {"a", to_json(first.a)},
                     {"b", to_json(first.b)}};
  }
  return body;
}

void print(const std::string& name, const LoggedPlace& place) {
  const LoggedResult& result = place.result;
  std::cout << "  " << name << ": step " << place.step << ", sequence " << result.sequence << ": ";
  if (result.kind == LoggedResult::Kind::draw) {
    std::cout << "token " << result.token << ", log-probability bits " << bits_text(result.bits);
  } else {
    std::cout << "checksum " << bits_text(result.bits);
  }
  std::cout << "\n    computed with " << place.spans.size() << " span(s):";
  for (size_t i = 0; i < place.spans.size() && i < spans_shown_max; ++i) {
    const engine::LoggedSpan& span = place.spans[i];
    std::cout << " " << span.sequence << "[" << span.first_position << ", "
              << span.first_position + span.tokens << ")";
  }
  std::cout << (place.spans.size() > spans_shown_max ? " …\n" : "\n");
}

int do_diff(const DiffOptions& options) {
  constexpr int trouble = 2;
  const auto found = engine::compare_step_logs(options.a, options.b);
  if (!found) {
    report(found.error(), options.json);
    return trouble;
  }
  if (options.json) {
    std::cout << to_json(*found).dump() << std::endl;
    return found->equal() ? 0 : 1;
  }
  std::cout << found->compared << " results in both logs (" << found->steps_a << " and "
            << found->steps_b << " steps), " << found->only_a << " only in the first, "
            << found->only_b << " only in the second, " << found->differing << " differ\n";
  if (found->first.has_value()) {
    const engine::StepDifference& first = *found->first;
    std::cout << "first: the " << kind_of(first.a.result) << " behind " << first.a.result.position
              << " equal tokens\n";
    print(options.a, first.a);
    print(first.same_log ? options.a : options.b, first.b);
  }
  std::cout << std::flush;
  return found->equal() ? 0 : 1;
}

}  // namespace

void add_diff_steps(CLI::App& app, Chosen& run) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff-steps",
                         "Find where two runs part, from logs made with TROUPE_STEP_LOG.\n"
                         "Exit status: 0 equal, 1 a difference, 2 a log cannot be read.");
  command->add_option("a", options->a, "a step log, or a folder of them (*.steps)")->required();
  command->add_option("b", options->b, "the other run's")->required();
  command->add_flag("--json", options->json, "one JSON object on stdout (default off)");
  command->callback([&run, options] { run = [options] { return do_diff(*options); }; });
}

}  // namespace troupe::cli
