#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <deque>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/thread_pool.hpp"
#include "cpu/draw_rows.hpp"
#include "cpu/forward.hpp"
#include "cpu/memory_needs.hpp"
#include "cpu/pack_file.hpp"
#include "cpu/packed_model.hpp"
#include "cpu/plan_check.hpp"
#include "kv/layer_groups.hpp"
#include "model/rope.hpp"

namespace troupe::cpu {
namespace {

using engine::StepPlan;
using engine::StepResult;
using engine::Ticket;

Batch make_batch(const StepPlan& plan, uint32_t groups) {
  Batch batch;
  for (const engine::Span& span : plan.spans) {
    BatchSpan item;
    item.first_token = static_cast<uint32_t>(batch.ids.size());
    item.num_tokens = static_cast<uint32_t>(span.tokens.size());
    item.first_position = span.first_position;
    item.block_table = span.block_table.data();
    item.num_blocks = static_cast<uint32_t>(span.block_table.size()) / groups;
    item.write_kv = span.write_kv;
    batch.spans.push_back(item);
    for (const engine::InputToken& token : span.tokens) batch.ids.push_back(token.value);
  }
  return batch;
}

class CpuBackend final : public engine::Backend {
 public:
  CpuBackend(std::unique_ptr<ThreadPool> threads, PackedModel model, model::ModelConfig config,
             const KernelTable& kernels, const kv::KvLayout& layout,
             engine::Capabilities capabilities)
      : threads_(std::move(threads)),
        model_(std::move(model)),
        config_(std::move(config)),
        layout_(layout),
        capabilities_(std::move(capabilities)),
        forward_(model_, config_, kernels, layout_, *threads_),
        draw_rows_(forward_, kernels, capabilities_.vocab_size, *threads_) {}

  [[nodiscard]] const engine::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] const kv::KvLayout& kv_layout() const override { return layout_; }

  Status attach_pool(kv::Region region) override {
    if (region_.data != nullptr) {
      return error(Code::failed_precondition, "a pool is attached already");
    }
    if (region.data == nullptr || region.bytes < layout_.block_bytes()) {
      return error(Code::invalid_argument, concat("a pool of ", region.bytes, " bytes"),
                   concat("one block takes ", layout_.block_bytes()));
    }
    region_ = std::move(region);
    forward_.attach_pool(region_);
    return {};
  }

  Result<Ticket> submit(StepPlan plan) override {
    if (region_.data == nullptr) {
      return error(Code::failed_precondition, "no pool is attached", "call attach_pool first");
    }
    const auto num_pages = static_cast<uint32_t>(region_.bytes / layout_.block_bytes());
    TROUPE_TRY(check_plan(plan, capabilities_, layout_, num_pages));
    const TimeUs start = now_us();
    StepResult result;
    result.step = plan.step;
    result.spans.resize(plan.spans.size());
    if (!plan.spans.empty()) {
      forward_.run(make_batch(plan, layout_.num_groups()));
      draw_rows_.run(plan, result);
    }
    result.compute_us = now_us() - start;
    finished_.push_back(std::move(result));
    return Ticket{plan.step};
  }

  [[nodiscard]] bool poll(Ticket ticket) override { return find(ticket) != finished_.end(); }

  Result<StepResult> wait(Ticket ticket) override {
    const auto found = find(ticket);
    if (found == finished_.end()) {
      return error(Code::failed_precondition, concat("step ", ticket.step, " is not outstanding"),
                   "wait once for each ticket");
    }
    StepResult result = std::move(*found);
    finished_.erase(found);
    return result;
  }

 private:
  std::deque<StepResult>::iterator find(Ticket ticket) {
    return std::find_if(finished_.begin(), finished_.end(),
                        [&](const StepResult& r) { return r.step == ticket.step; });
  }

  std::unique_ptr<ThreadPool> threads_;
  PackedModel model_;
  model::ModelConfig config_;
  kv::KvLayout layout_;
  engine::Capabilities capabilities_;
  kv::Region region_;
  Forward forward_;
  DrawRows draw_rows_;
  std::deque<StepResult> finished_;
};

/// From the pack if it can be, else packed here.
Result<PackedModel> packed_model(std::shared_ptr<const model::Model> model,
                                 const CpuOptions& options, ThreadPool& threads) {
  if (!options.pack || options.pack_use == PackUse::off) {
    return pack_model(std::move(model), options.mode, threads);
  }
  auto from_pack = use_pack(model, options, threads);
  if (from_pack) return from_pack;
  log_warning("weights", concat("the pack is not used: ", from_pack.error().message()));
  return pack_model(std::move(model), options.mode, threads);
}

}  // namespace

kv::KvLayout kv_layout_of(const model::ModelConfig& config, kv::KvTypes types) {
  kv::KvLayout layout;
  layout.num_layers = config.num_layers;
  layout.num_kv_heads = config.num_kv_heads;
  layout.head_dim = config.head_dim;
  // Which positions are selected turns on small differences, and rounded keys would turn many.
  if (config.indexer.heads != 0) types = {kv::KvType::f32, kv::KvType::f32};
  layout.type = types.keys;
  layout.value_in_key = config.latent.kv_rank != 0;
  if (types.values != types.keys && !layout.value_in_key) layout.value_type = types.values;
  layout.index_dim = config.indexer.dim;
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    if (config.layer(i).selection == model::Selection::own) ++layout.index_layers;
  }
  if (layout.value_in_key || layout.index_layers > 0) return layout;
  std::vector<uint32_t> windows;
  for (uint32_t i = 0; i < config.num_layers; ++i) windows.push_back(config.layer(i).window);
  kv::group_layers(layout, windows);
  return layout;
}

model::ModelConfig served_config(const model::ModelConfig& config, uint32_t context_max) {
  model::ModelConfig served = config;
  if (context_max != 0) served.context_max = context_max;
  for (model::RopeConfig* rope : {&served.rope, &served.local_rope}) {
    model::resolve_rope(*rope, served.context_max);
  }
  return served;
}

/// What is asked for, where the model and the mode can have it.
static Result<kv::KvTypes> kv_types_of(const model::ModelConfig& config,
                                       const CpuOptions& options) {
  constexpr kv::KvTypes floats = {kv::KvType::f32, kv::KvType::f32};
  const bool exact = options.mode == ComputeMode::exact;
  if (exact || config.indexer.heads != 0) {
    if (options.kv_types != floats) {
      log_info("cpu", concat("keys and values are stored as f32, which ",
                             exact ? "exact mode" : "a model with an indexer", " needs"));
    }
    return floats;
  }
  if (config.latent.kv_rank != 0 && options.kv_types.keys != options.kv_types.values) {
    return error(Code::invalid_argument,
                 concat("keys as ", kv::name(options.kv_types.keys), " and values as ",
                        kv::name(options.kv_types.values),
                        ": this model's attention is latent and stores one vector for both"),
                 "name one type for both, with kv_type alone");
  }
  return options.kv_types;
}

Result<std::unique_ptr<engine::Backend>> make_cpu_backend(std::shared_ptr<const model::Model> model,
                                                          const CpuOptions& options) {
  if (!cpu_has(options.isa)) {
    return error(Code::unsupported, concat("this CPU does not have ", name(options.isa)),
                 concat("it has ", name(best_isa())));
  }
  model::ModelConfig config = served_config(model->config, options.context_max);
  const bool exact = options.mode == ComputeMode::exact;
  TROUPE_ASSIGN(const kv::KvTypes types, kv_types_of(config, options));
  const kv::KvLayout layout = kv_layout_of(config, types);

  engine::Capabilities capabilities;
  capabilities.name = concat("cpu/", name(options.isa));
  capabilities.numerics_id = concat("cpu/", numerics_version, exact ? "/exact" : "/fast");
  capabilities.vocab_size = config.vocab_size;
  capabilities.context_max = config.context_max;
  capabilities.step_tokens_max = options.step_tokens_max;

  auto threads = std::make_unique<ThreadPool>(ThreadPool::threads_of(options.threads));
  TROUPE_ASSIGN(PackedModel packed, packed_model(std::move(model), options, *threads));
  std::unique_ptr<engine::Backend> backend =
      std::make_unique<CpuBackend>(std::move(threads), std::move(packed), std::move(config),
                                   kernels(options.isa), layout, std::move(capabilities));
  return backend;
}

}  // namespace troupe::cpu
