#include "engine/engine.hpp"

#include <algorithm>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

Engine::Impl::Impl(Backend& backend_in, kv::Pool& pool_in, kv::LocalIndex& index_in,
                   EngineLimits limits_in)
    : backend(backend_in),
      pool(pool_in),
      index(index_in),
      limits(limits_in),
      block_tokens(pool_in.layout().tokens_per_block),
      groups(pool_in.layout().num_groups()),
      branches(pool_in.num_pages(), block_tokens) {
  limits.running_max = std::max(1u, limits.running_max);
  limits.chunk_tokens = std::max(1u, limits.chunk_tokens);
  step_tokens_max =
      std::max(1u, std::min(limits.step_tokens_max, backend.capabilities().step_tokens_max));
}

Sequence* Engine::Impl::find(SequenceId id) {
  const auto found = sequences.find(id);
  if (found == sequences.end() || found->second->ending != Ending::none) return nullptr;
  return found->second.get();
}

void Engine::Impl::leave_queues(Sequence& s) {
  waiting.erase(s.id);
  running.erase(s.id);
  if (s.state == SequenceState::held) --num_held;
  unclaim(s, s.claims_end);
}

void Engine::Impl::complete(Sequence& s, FinishReason reason) {
  leave_queues(s);
  s.state = SequenceState::done;
  s.finish = reason;
  untold.insert(s.id);
}

void Engine::Impl::fail(Sequence& s, Error error) {
  complete(s, FinishReason::failed);
  s.failure = std::move(error);
  drop_blocks(s);
}

void Engine::Impl::retire(Sequence& s) {
  leave_queues(s);
  drop_blocks(s);
  untold.erase(s.id);
  sequences.erase(SequenceId{s.id});
}

Engine::Engine(Backend& backend, kv::Pool& pool, kv::LocalIndex& index, EngineLimits limits)
    : impl_(std::make_unique<Impl>(backend, pool, index, limits)) {}

Engine::~Engine() {
  for (const auto& [id, s] : impl_->sequences) impl_->drop_blocks(*s);
}

Result<SequenceId> Engine::add(SequenceSpec spec) {
  impl_->stalled = false;
  return impl_->add(std::move(spec));
}

void Engine::cancel(SequenceId id) {
  impl_->end(id, Ending::cancelled);
}

void Engine::finish(SequenceId id) {
  impl_->end(id, Ending::finished);
}

uint32_t Engine::sequence_blocks_max() const {
  uint32_t fits = 0, too_many = impl_->pool.num_pages() + 1;
  while (too_many - fits > 1) {
    const uint32_t middle = fits + (too_many - fits) / 2;
    const bool is_room =
        impl_->pages_at_most(middle * impl_->block_tokens) <= impl_->pool.num_pages();
    (is_room ? fits : too_many) = middle;
  }
  return fits;
}

const std::vector<kv::BlockName>& Engine::block_names(SequenceId id) const {
  static const std::vector<kv::BlockName> none;
  const Sequence* s = impl_->find(id);
  return s == nullptr ? none : s->names;
}

const kv::BlockName& Engine::root(SequenceId id) const {
  static const kv::BlockName none;
  const Sequence* s = impl_->find(id);
  return s == nullptr ? none : s->root;
}

uint32_t Engine::num_cached_blocks(SequenceId id) const {
  const Sequence* s = impl_->find(id);
  return s == nullptr ? 0 : s->num_cached;
}

std::vector<kv::PageId> Engine::expect_external(SequenceId id, uint32_t end) {
  Sequence* s = impl_->find(id);
  if (s == nullptr) return {};
  impl_->stalled = false;
  return impl_->expect_external(*s, end);
}

void Engine::deliver_external(SequenceId id, uint32_t block_index) {
  Sequence* s = impl_->find(id);
  if (s == nullptr) return;
  impl_->stalled = false;
  impl_->deliver_external(*s, block_index);
}

void Engine::abandon_external(SequenceId id) {
  Sequence* s = impl_->find(id);
  if (s == nullptr || s->state != SequenceState::held) return;
  impl_->stalled = false;
  impl_->stop_holding(*s);
}

bool Engine::has_work() const {
  if (!impl_->untold.empty()) return true;
  if (impl_->waiting.empty() && impl_->running.empty()) return false;
  // A plan that found no room finds none until something changes.
  return !impl_->stalled || impl_->available() != impl_->stalled_available;
}

bool Engine::is_stalled() const {
  return impl_->stalled && impl_->is_short_of_pages && !has_work();
}

StepPlan Engine::plan() {
  return impl_->plan();
}

Outcome Engine::accept(const StepResult& result) {
  return impl_->accept(result);
}

Outcome Engine::reject(const Error& error) {
  return impl_->reject(error);
}

uint32_t Engine::num_groups() const {
  return impl_->groups;
}

EngineStats Engine::stats() const {
  EngineStats stats = impl_->counters;
  stats.running = static_cast<uint32_t>(impl_->running.size());
  stats.waiting = static_cast<uint32_t>(impl_->waiting.size()) + impl_->num_held;
  return stats;
}

}  // namespace troupe::engine
