// Drafts: which a step verifies, what others are asked and told.
#include <algorithm>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

void Engine::Impl::choose_drafts(Sequence& s, StepBudget& budget, StepLoad& load) {
  if (!s.drafts) return;
  if (!s.drafter.follow(s.history, limits::lookup_feed_max, acceptance, tally_of(s.root))) return;
  const uint32_t output_left = s.sampling.max_tokens - s.history.num_output_tokens();
  const uint32_t context_left = backend.capabilities().context_max - s.num_tokens();
  const uint32_t useful = std::min(output_left, context_left) - 1;
  s.drafted =
      s.drafter.choose(s.history, std::min({limits.draft_tokens_max, useful, budget.left()}),
                       acceptance, costs, load);
  // Drafts are not worth taking a page from anybody.
  const uint32_t end = s.num_tokens() + static_cast<uint32_t>(s.drafted.size());
  if (!reserve(s, pages_for(end), Pressure::evict) || !reserve_windows(s, end, Pressure::evict)) {
    s.drafted.resize(std::min(end, tokens_with_pages(s)) - s.num_tokens());
  }
  budget.take_drafts(static_cast<uint32_t>(s.drafted.size()));
}

DraftTally& Engine::Impl::tally_of(const kv::BlockName& group) {
  const auto found = tallies.find(group);
  if (found != tallies.end()) return found->second;
  if (!has_draft_actor || tallies.size() >= limits::tally_groups_max) return untallied;
  DraftTally& tally = tallies[group];
  tally.group = group;
  return tally;
}

std::vector<DraftAsk> Engine::Impl::draft_asks() {
  std::vector<DraftAsk> asks;
  if (!has_draft_actor) return asks;
  for (const Planned& span : planned) {
    Sequence& s = *span.sequence;
    if (!s.drafts || span.draws == 0 || s.ending != Ending::none) continue;
    auto question = s.drafter.shared().ask(s.history.tokens, s.drafted);
    if (!question.has_value()) continue;
    asks.push_back(
        {s.id, question->position, s.root, std::move(question->context), limits::run_tokens});
  }
  return asks;
}

void Engine::Impl::take_draft_answer(const DraftAnswer& answer) {
  Sequence* s = find(answer.sequence);
  if (s == nullptr || !s->drafts) return;
  // What no vocabulary holds cannot be computed; what comes before it can.
  const auto bad = std::find_if(answer.tokens.begin(), answer.tokens.end(), [this](int32_t token) {
    return token < 0 || static_cast<uint32_t>(token) >= backend.capabilities().vocab_size;
  });
  s->drafter.shared().answer(s->history.tokens, answer.position, answer.match,
                             std::span(answer.tokens.begin(), bad));
}

void Engine::Impl::teach_prompt(const Sequence& s) {
  // Choices of one request come one after the other, with one prompt.
  const bool again =
      !lessons.empty() && lessons.back().group == s.root &&
      std::equal(lessons.back().tokens.begin(), lessons.back().tokens.end(),
                 s.history.tokens.begin(), s.history.tokens.begin() + s.history.num_prompt_tokens);
  if (!again) teach(s, 0, s.history.num_prompt_tokens);
}

void Engine::Impl::teach_output(const Sequence& s) {
  const size_t prompt = s.history.num_prompt_tokens;
  teach(s, prompt - std::min(prompt, size_t{limits::match_tokens_max}), s.history.tokens.size());
}

void Engine::Impl::teach(const Sequence& s, size_t begin, size_t end) {
  const size_t count = end - begin;
  if (!has_draft_actor || !s.drafts || count < 2) return;
  if (lesson_tokens + count > limits::lesson_tokens_max) return;
  lesson_tokens += count;
  const auto tokens = s.history.tokens.begin();
  lessons.push_back(
      {s.root,
       {tokens + static_cast<std::ptrdiff_t>(begin), tokens + static_cast<std::ptrdiff_t>(end)}});
}

void Engine::set_draft_actor(bool present) {
  impl_->has_draft_actor = present;
  if (present) return;
  impl_->lessons.clear();
  impl_->lesson_tokens = 0;
  impl_->tallies.clear();
}

std::vector<DraftAsk> Engine::draft_asks() {
  return impl_->draft_asks();
}

void Engine::take_draft_answer(const DraftAnswer& answer) {
  impl_->take_draft_answer(answer);
}

std::vector<DraftLesson> Engine::take_draft_lessons() {
  impl_->lesson_tokens = 0;
  return std::exchange(impl_->lessons, {});
}

std::vector<DraftTally> Engine::take_draft_tallies() {
  std::vector<DraftTally> taken;
  for (const auto& [group, tally] : impl_->tallies) taken.push_back(tally);
  impl_->tallies.clear();
  return taken;
}

}  // namespace troupe::engine
