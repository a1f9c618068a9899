#include "actors/measure_device.hpp"

#include <doctest/doctest.h>

#include "cpu/cpu_backend.hpp"
#include "engine/sim_backend.hpp"
#include "kv/pool.hpp"
#include "kv/region.hpp"
#include "model/parse_model.hpp"
#include "tests/support/gguf_writer.hpp"

using namespace troupe;

namespace {

Result<v1::DeviceProfile> measure(uint32_t pages, engine::SimOptions options) {
  engine::SimBackend backend(std::move(options));
  kv::Pool pool(kv::allocate_region(pages * backend.kv_layout().block_bytes()).value(),
                backend.kv_layout());
  REQUIRE(backend.attach_pool(pool.region()).ok());
  auto profile = actors::measure_device(backend, pool);
  CHECK(pool.num_free() == pool.num_pages());
  return profile;
}

}  // namespace

TEST_CASE("a device is measured without leaving anything in its pool") {
  engine::SimOptions options;
  options.us_per_step = 1000;
  options.us_per_token = 100;
  for (uint32_t pages : {1u, 2u, 20u}) {
    const auto profile = measure(pages, options);
    REQUIRE(profile.ok());
    CHECK(profile->prefill_us_per_token() >= 100);
    CHECK(profile->decode_us_per_step() >= 1000);
    CHECK(profile->attention_ns_per_token_per_context() == 0);
    CHECK(profile->transfer_bytes_per_us() > 0);
  }
}

TEST_CASE("what positions before a token cost is measured far from the start") {
  testing::TinyLlamaOptions tiny;
  tiny.context = 8192;
  const auto bytes = testing::tiny_llama(tiny).build();
  const auto model = model::parse_model(bytes);
  REQUIRE(model.ok());
  cpu::CpuOptions options;
  options.threads = 1;
  auto backend = cpu::make_cpu_backend(*model, options);
  REQUIRE(backend.ok());
  kv::Pool pool(kv::allocate_region(4 * (*backend)->kv_layout().block_bytes()).value(),
                (*backend)->kv_layout());
  REQUIRE((*backend)->attach_pool(pool.region()).ok());
  const auto profile = actors::measure_device(**backend, pool);
  REQUIRE(profile.ok());
  // 4,096 positions of this model's attention are far more than the rest of it.
  CHECK(profile->attention_ns_per_token_per_context() > 0);
  CHECK(pool.num_free() == pool.num_pages());
}

TEST_CASE("a slow device is not measured for seconds") {
  engine::SimOptions options;
  options.us_per_step = 0;
  options.us_per_token = 20'000;
  const TimeUs before = now_us();
  const auto profile = measure(20, options);
  REQUIRE(profile.ok());
  CHECK(profile->prefill_us_per_token() >= 20'000);
  // 32 tokens in each span would take 2 s.
  CHECK(now_us() - before < 1'500'000);
}

TEST_CASE("a context shorter than a block is measured as far as it goes") {
  for (const uint32_t context : {1u, 2u, 50u, 63u, 64u, 65u, 127u}) {
    CAPTURE(context);
    engine::SimOptions options;
    options.context_max = context;
    const auto profile = measure(4, options);
    REQUIRE_MESSAGE(profile.ok(), profile.error().message());
  }
}

TEST_CASE("a device that fails its measurement says why, and the pages are free again") {
  engine::SimOptions options;
  options.failing_token = 0;
  const auto failed = measure(4, options);
  CHECK_FALSE(failed.ok());
}
