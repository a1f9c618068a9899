// Logs of steps: what is written is read again, two runs that differ in everything but their
// requests agree, and a single wrong bit is found where it came about.
#include "engine/step_log.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <bit>
#include <fstream>
#include <functional>
#include <random>

#include "base/concat.hpp"
#include "engine/logged_backend.hpp"
#include "engine/step_diff.hpp"
#include "tests/support/sim_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::testing {
namespace {

using engine::LoggedResult;
using engine::LoggedStep;
using engine::StepComparison;

/// A device of which a test may spoil what it computed.
class Spoiled final : public engine::Backend {
 public:
  using Spoil = std::function<void(const engine::StepPlan&, engine::StepResult&, kv::Region&)>;
  explicit Spoiled(Spoil spoil) : spoil_(std::move(spoil)) {}

  const engine::Capabilities& capabilities() const override { return inner_.capabilities(); }
  const kv::KvLayout& kv_layout() const override { return inner_.kv_layout(); }
  Status attach_pool(kv::Region region) override {
    region_ = region;
    return inner_.attach_pool(std::move(region));
  }
  bool poll(engine::Ticket ticket) override { return inner_.poll(ticket); }
  Result<engine::Ticket> submit(engine::StepPlan plan) override {
    plan_ = plan;
    return inner_.submit(std::move(plan));
  }
  Result<engine::StepResult> wait(engine::Ticket ticket) override {
    auto result = inner_.wait(ticket);
    if (result && spoil_) spoil_(plan_, *result, region_);
    return result;
  }

 private:
  engine::SimBackend inner_{engine::SimOptions{}};
  engine::StepPlan plan_;
  kv::Region region_;
  Spoil spoil_;
};

struct LoggedRun {
  engine::EngineLimits limits;
  uint32_t first = 0;  ///< of three prompts, which comes first
  bool drafts = true;
  Spoiled::Spoil spoil;
};

/// Three prompts of which two begin alike, each answered in 40 tokens, logged at `path`.
void log_run(const LoggedRun& run, const std::string& path) {
  const auto device = std::make_shared<Spoiled>(run.spoil);
  const size_t block_bytes = device->kv_layout().block_bytes();
  kv::Pool pool(kv::allocate_region(64 * block_bytes).value(), device->kv_layout());
  REQUIRE(device->attach_pool(pool.region()).ok());
  kv::EventLog events;
  kv::LocalIndex index(pool, events);
  auto logged = engine::log_steps(device, pool.region(), path);
  REQUIRE_MESSAGE(logged.ok(), logged.error().message());
  engine::Backend& backend = **logged;
  engine::Engine engine(backend, pool, index, run.limits);
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t which = (run.first + i) % 3;
    engine::SequenceSpec spec;
    spec.tokens = sim_tokens(150, which == 2 ? 7 : 5);
    if (which == 1) spec.tokens.resize(100);
    spec.num_prompt_tokens = static_cast<uint32_t>(spec.tokens.size());
    spec.sampling.max_tokens = 40;
    spec.sampling.seed = 3;
    spec.drafts = run.drafts;
    REQUIRE(engine.add(std::move(spec)).ok());
  }
  while (engine.has_work()) {
    engine::StepPlan plan = engine.plan();
    if (plan.spans.empty()) {
      engine.accept({plan.step, {}, 0});
      continue;
    }
    auto ticket = backend.submit(std::move(plan));
    REQUIRE(ticket.ok());
    auto result = backend.wait(*ticket);
    REQUIRE(result.ok());
    engine.accept(*result);
  }
}

StepComparison compare(const std::string& a, const std::string& b) {
  const auto found = engine::compare_step_logs(a, b);
  REQUIRE_MESSAGE(found.ok(), found.error().message());
  return *found;
}

LoggedStep random_step(std::mt19937& engine) {
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  LoggedStep step;
  step.step = random();
  step.compute_us = random() % 1000;
  for (uint32_t i = random() % 4; i > 0; --i) {
    step.spans.push_back({random(), random(), random() % 99, random() % 9});
  }
  for (uint32_t i = random() % 9; i > 0; --i) {
    LoggedResult result;
    result.kind = static_cast<LoggedResult::Kind>(random() % 3);
    result.sequence = random();
    result.position = random();
    if (result.kind != LoggedResult::Kind::failure) {
      result.prefix = random() * 0x100000001ull;
      result.bits = random();
    }
    if (result.kind == LoggedResult::Kind::draw) {
      result.sampling = random() * 0x100000001ull;
      result.token = static_cast<int32_t>(random() % 100000);
    }
    step.results.push_back(result);
  }
  return step;
}

TEST_CASE("what a step log says is read again, and nothing else is taken") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text = engine::step_log_header("sim/1");
    std::vector<LoggedStep> written, read;
    for (auto i = random() % 5; i > 0; --i) {
      written.push_back(random_step(random));
      text += to_text(written.back());
    }
    engine::StepLogReader reader;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const auto whole = reader.take(std::string_view(text).substr(begin, end - begin));
      REQUIRE_MESSAGE(whole.ok(), whole.error().message());
      if (*whole) read.push_back(reader.step());
      begin = end + 1;
    }
    if (reader.finish()) read.push_back(reader.last());
    CHECK(reader.numerics_id() == "sim/1");
    CHECK(read == written);
  }

  for (const std::string line :
       {"", "step", "step 1", "step x 1", "step 1 2 3", "step -1 2", "span 1 2 3 4 5", "span 1 2 3",
        "draw 1 2 3", "draw 1 2 g 0 1 0", "draw 1 99999999999 0 0 1 0", "block 1 2 3", "fail",
        "fail 1 2 3", "other 1", "block 1 2 12345678901234567 0"}) {
    engine::StepLogReader reader;
    REQUIRE(reader.take("troupe-step-log 1 x").ok());
    REQUIRE(reader.take("step 1 2").ok());
    const auto taken = reader.take(line);
    INFO(line);
    REQUIRE_FALSE(taken.ok());
    CHECK(taken.error().code == Code::corrupt);
    CHECK(taken.error().what.find("line 3") != std::string::npos);
  }
  engine::StepLogReader reader;
  CHECK_FALSE(reader.take("something else").ok());
  engine::StepLogReader early;
  REQUIRE(early.take("troupe-step-log 1 x").ok());
  CHECK_FALSE(early.take("span 1 2 3 4").ok());
  CHECK_FALSE(early.take(std::string(engine::limits::step_log_line_bytes_max + 1, 's')).ok());
}

TEST_CASE("runs that batch, cut, cache and draft in other ways agree in every result") {
  const TemporaryFolder folder;
  log_run({}, folder.path("plain.steps"));
  LoggedRun other;
  other.limits.chunk_tokens = 16;
  other.limits.running_max = 2;
  other.first = 1;
  other.drafts = false;
  log_run(other, folder.path("other.steps"));
  const StepComparison found = compare(folder.path("plain.steps"), folder.path("other.steps"));
  CHECK(found.equal());
  CHECK(found.failures == 0);
  CHECK(found.steps_b > found.steps_a);
  CHECK(found.compared >= 3 * 40 + 5);  // each token, and the full blocks

  struct stat status {};
  REQUIRE(::stat(folder.path("plain.steps").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto again =
      engine::log_steps(std::make_shared<Spoiled>(nullptr), {}, folder.path("plain.steps"));
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().what.find("plain.steps") != std::string::npos);
}

TEST_CASE("one wrong bit is found with its step and what was computed beside it") {
  const TemporaryFolder folder;
  log_run({}, folder.path("right.steps"));
  LoggedRun wrong;
  wrong.drafts = false;
  uint64_t spoiled_step = 0;

  SUBCASE("of a log-probability") {
    wrong.spoil = [&](const engine::StepPlan& plan, engine::StepResult& result, kv::Region&) {
      if (plan.spans.empty() || plan.spans[0].first_position < 170 || spoiled_step != 0) return;
      spoiled_step = plan.step;
      float& logprob = result.spans[0].draws[0].logprob;
      logprob = std::bit_cast<float>(std::bit_cast<uint32_t>(logprob) ^ 1);
    };
    log_run(wrong, folder.path("wrong.steps"));
    const StepComparison found = compare(folder.path("right.steps"), folder.path("wrong.steps"));
    REQUIRE_FALSE(found.equal());
    CHECK(found.differing == 1);
    CHECK(found.first->a.result.kind == LoggedResult::Kind::draw);
    CHECK(found.first->a.result.position == 171);
    CHECK((found.first->a.result.bits ^ found.first->b.result.bits) == 1);
    CHECK(found.first->b.step == spoiled_step);
    CHECK(found.first->b.spans.size() >= 1);
    CHECK(found.first->a.spans.size() >= 1);
  }
  SUBCASE("of a KV block") {
    wrong.spoil = [&](const engine::StepPlan& plan, engine::StepResult&, kv::Region& region) {
      if (spoiled_step != 0) return;
      spoiled_step = plan.step;
      // The end of a page is what its last token wrote; the device does not read it back.
      const size_t block_bytes = engine::sim_layout().block_bytes();
      region.data[(plan.spans[0].block_table[0] + 1) * block_bytes - 1] ^= std::byte{1};
    };
    LoggedRun prefix = wrong;
    log_run(prefix, folder.path("wrong.steps"));
    const StepComparison found = compare(folder.path("right.steps"), folder.path("wrong.steps"));
    REQUIRE_FALSE(found.equal());
    CHECK(found.first->a.result.kind == LoggedResult::Kind::block);
    CHECK(found.first->a.result.position == 64);
    CHECK(found.first->b.step == spoiled_step);
  }
}

TEST_CASE("folders are logs of several processes; what is no log is refused by its name") {
  const TemporaryFolder folder, other;
  log_run({}, folder.path("a.steps"));
  LoggedRun second;
  second.first = 2;
  log_run(second, folder.path("b.steps"));
  folder.write("notes.txt", std::string("not a log"));
  log_run({}, other.path("c.steps"));
  const StepComparison found = compare(folder.path(), other.path());
  CHECK(found.equal());
  CHECK(found.only_a == 0);

  // A process that was killed leaves half a line.
  std::ofstream(other.path("c.steps"), std::ios::app) << "draw 1 2";
  CHECK(compare(folder.path(), other.path()).equal());

  other.write("d.steps", std::string("troupe-step-log 1 sim\nstep 1 1\nrubbish\n"));
  for (const std::string& path :
       {other.path(), folder.path("notes.txt"), folder.path("none"), std::string("/dev/zero")}) {
    const auto refused = engine::compare_step_logs(folder.path(), path);
    REQUIRE_FALSE(refused.ok());
    INFO(refused.error().message());
    CHECK(refused.error().what.find(path) != std::string::npos);
  }
  other.write("d.steps", engine::step_log_header("other numerics"));
  const auto mixed = engine::compare_step_logs(folder.path(), other.path("d.steps"));
  REQUIRE_FALSE(mixed.ok());
  CHECK(mixed.error().code == Code::failed_precondition);
}

}  // namespace
}  // namespace troupe::testing
