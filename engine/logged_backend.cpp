#include "engine/logged_backend.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "base/log.hpp"
#include "engine/step_log.hpp"

namespace troupe::engine {

namespace {

/// What is kept of a span until its result is there.
struct Pending {
  LoggedSpan span;
  std::vector<uint64_t> prefixes;  ///< [tokens + 1]: before each token of the span, and behind all
  std::vector<kv::PageId> block_table;
  uint64_t sampling = 0;
  bool write_kv = true;
};

class LoggedBackend final : public Backend {
 public:
  LoggedBackend(std::shared_ptr<Backend> inner, kv::Region region, std::string path, int file)
      : inner_(std::move(inner)), path_(std::move(path)), file_(file), region_(std::move(region)) {
    write(step_log_header(capabilities().numerics_id));
  }
  ~LoggedBackend() override {
    if (file_ >= 0) ::close(file_);
  }
  LoggedBackend(const LoggedBackend&) = delete;
  LoggedBackend& operator=(const LoggedBackend&) = delete;

  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  const kv::KvLayout& kv_layout() const override { return inner_->kv_layout(); }
  Status attach_pool(kv::Region region) override {
    region_ = region;
    return inner_->attach_pool(std::move(region));
  }
  bool poll(Ticket ticket) override { return inner_->poll(ticket); }

  Result<Ticket> submit(StepPlan plan) override {
    std::vector<Pending> spans;
    for (const Span& span : plan.spans) spans.push_back(noted(span));
    const uint64_t step = plan.step;
    auto ticket = inner_->submit(std::move(plan));
    if (ticket) steps_.push_back({step, std::move(spans)});
    return ticket;
  }

  Result<StepResult> wait(Ticket ticket) override {
    auto result = inner_->wait(ticket);
    if (steps_.empty()) return result;
    const auto [step, spans] = std::move(steps_.front());
    steps_.pop_front();
    if (!result || result->spans.size() != spans.size()) return result;
    LoggedStep logged;
    logged.step = step;
    logged.compute_us = result->compute_us;
    for (size_t i = 0; i < spans.size(); ++i) {
      logged.spans.push_back(spans[i].span);
      add_results(spans[i], result->spans[i], logged.results);
    }
    write(to_text(logged));
    return result;
  }

 private:
  static Pending noted(const Span& span) {
    Pending pending;
    const auto tokens = static_cast<uint32_t>(span.tokens.size());
    pending.span = {span.sequence, span.first_position, tokens, span.num_draws};
    pending.block_table = span.block_table;
    pending.write_kv = span.write_kv;
    if (span.history == nullptr) return pending;
    if (span.sampling != nullptr) {
      pending.sampling = sampling_hash(*span.sampling, span.history->num_prompt_tokens);
    }
    uint64_t prefix = empty_prefix;
    for (uint32_t i = 0; i < span.first_position; ++i) {
      prefix = extend_prefix(prefix, span.history->tokens[i]);
    }
    pending.prefixes.push_back(prefix);
    for (const InputToken& token : span.tokens) {
      prefix = extend_prefix(prefix, token.value);
      pending.prefixes.push_back(prefix);
    }
    return pending;
  }

  void add_results(const Pending& span, const SpanResult& result,
                   std::vector<LoggedResult>& results) const {
    if (result.error.has_value()) {
      LoggedResult failure;
      failure.kind = LoggedResult::Kind::failure;
      failure.sequence = span.span.sequence;
      failure.position = span.span.first_position + span.span.tokens;
      results.push_back(failure);
      return;
    }
    if (span.prefixes.empty()) return;
    add_blocks(span, results);
    const uint32_t first_draw = span.span.tokens - span.span.draws;
    for (uint32_t i = 0; i < result.draws.size() && i < span.span.draws; ++i) {
      LoggedResult draw;
      draw.sequence = span.span.sequence;
      draw.position = span.span.first_position + first_draw + i + 1;
      draw.prefix = span.prefixes[first_draw + i + 1];
      draw.sampling = span.sampling;
      draw.token = result.draws[i].token;
      draw.bits = std::bit_cast<uint32_t>(result.draws[i].logprob);
      results.push_back(draw);
    }
  }

  /// Blocks whose last token this span computed.
  void add_blocks(const Pending& span, std::vector<LoggedResult>& results) const {
    if (!span.write_kv || !capabilities().host_memory) return;
    const uint32_t block_tokens = kv_layout().tokens_per_block;
    const uint32_t first = span.span.first_position, end = first + span.span.tokens;
    for (uint32_t block = first / block_tokens; (block + 1) * block_tokens <= end; ++block) {
      for (uint32_t group = 0; group < kv_layout().num_groups(); ++group) {
        LoggedResult full;
        full.kind = LoggedResult::Kind::block;
        full.sequence = span.span.sequence;
        full.position = (block + 1) * block_tokens;
        full.prefix = span.prefixes[full.position - first];
        // No token is negative, so a page with a window has a name of its own.
        if (group > 0) full.prefix = extend_prefix(full.prefix, -static_cast<int32_t>(group));
        const auto bits = checksum_of(span, block, group);
        if (!bits) break;
        full.bits = *bits;
        results.push_back(full);
      }
    }
  }

  std::optional<uint32_t> checksum_of(const Pending& span, uint32_t block, uint32_t group) const {
    const size_t block_bytes = kv_layout().block_bytes();
    const size_t blocks = span.block_table.size() / kv_layout().num_groups();
    if (block >= blocks) return std::nullopt;
    const size_t offset = span.block_table[group * blocks + block] * block_bytes;
    if (offset + block_bytes > region_.bytes) return std::nullopt;
    return crc32c({region_.data + offset, block_bytes});
  }

  void write(std::string_view text) {
    while (file_ >= 0 && !text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        log_warning("engine", concat("the step log ", path_, " ends here: ", std::strerror(errno)));
        ::close(file_);
        file_ = -1;
        return;
      }
      text.remove_prefix(static_cast<size_t>(written));
    }
  }

  std::shared_ptr<Backend> inner_;
  std::string path_;
  int file_;
  kv::Region region_;
  std::deque<std::pair<uint64_t, std::vector<Pending>>> steps_;
};

}  // namespace

Result<std::shared_ptr<Backend>> log_steps(std::shared_ptr<Backend> inner, kv::Region region,
                                           const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return error(Code::invalid_argument,
                 concat("no step log can be made at ", path, ": ", std::strerror(errno)),
                 "name a folder that exists and may be written");
  }
  return std::shared_ptr<Backend>(
      std::make_shared<LoggedBackend>(std::move(inner), std::move(region), path, file));
}

}  // namespace troupe::engine
