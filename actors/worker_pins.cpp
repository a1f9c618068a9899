// Blocks of prompts that a worker keeps for a time because the request asks for it.
#include <algorithm>
#include <utility>

#include "actors/worker_logic.hpp"
#include "kv/layer_groups.hpp"

namespace troupe::actors {

void WorkerLogic::note_blocks(Choice& choice) {
  const std::vector<kv::BlockName>& names = parts_.engine.block_names(*choice.sequence);
  const auto cached = std::span(names).first(parts_.engine.num_cached_blocks(*choice.sequence));
  if (pins_.size() > 0) {
    pins_.use(cached, now_);
    // Their names are hashes: not worth making where nothing is pinned.
    pins_.use(kv::window_page_names(parts_.pool.layout(), cached), now_);
  }
  uint32_t tokens = 0;
  for (const v1::CachePin& pin : choice.pins) tokens = std::max(tokens, pin.tokens());
  const size_t blocks =
      std::min<size_t>(tokens / parts_.pool.layout().tokens_per_block,
                       choice.spec.num_prompt_tokens / parts_.pool.layout().tokens_per_block);
  choice.to_pin.assign(names.begin(),
                       names.begin() + static_cast<ptrdiff_t>(std::min(blocks, names.size())));
}

void WorkerLogic::pin_prompt(Choice& choice) {
  const std::vector<v1::CachePin> pins = std::exchange(choice.pins, {});
  const std::vector<kv::BlockName> names = std::exchange(choice.to_pin, {});
  const uint32_t per_block = parts_.pool.layout().tokens_per_block;
  uint32_t pinned = 0;
  for (const v1::CachePin& pin : pins) {
    const size_t blocks = std::min<size_t>(pin.tokens() / per_block, names.size());
    const TimeUs ttl = TimeUs{pin.ttl_s()} * 1'000'000;
    const uint32_t here = pins_.pin(std::span(names).first(blocks), choice.spec.root, ttl, now_);
    // Who comes back goes on from here, with the windows of this place.
    pins_.pin(kv::window_page_names(parts_.pool.layout(), std::span(names).first(here)),
              choice.spec.root, ttl, now_);
    pinned = std::max(pinned, here);
  }
  if (pinned == 0) return;
  choice.stats.set_pinned_tokens(pinned * per_block);
  choice.stats_news = true;
}

}  // namespace troupe::actors
