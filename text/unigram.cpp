#include "text/unigram.hpp"

#include <algorithm>
#include <limits>

#include "text/char_class.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

/// An unknown character scores this much below the worst piece.
constexpr double unknown_penalty = 10.0;

}  // namespace

UnigramModel::UnigramModel(const TokenizerSpec& spec)
    : unknown_id_(spec.unknown_id), in_doubles_(!spec.exact_scores.empty()) {
  scores_.assign(spec.scores.begin(), spec.scores.end());
  if (in_doubles_) scores_ = spec.exact_scores;
  double lowest = std::numeric_limits<double>::max();
  double highest = std::numeric_limits<double>::lowest();
  // Tokens that tokenizer.json adds have no score and are no pieces.
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (!in_doubles_ && spec.types[i] != TokenType::normal) continue;
    lowest = std::min(lowest, scores_[i]);
    highest = std::max(highest, scores_[i]);
  }
  if (lowest > highest) lowest = highest = 0;
  unknown_score_ =
      in_doubles_
          ? lowest - unknown_penalty
          : static_cast<double>(static_cast<float>(lowest) - static_cast<float>(unknown_penalty));
  for (size_t i = 0; i < scores_.size(); ++i) {
    const TokenType type = spec.types[i];
    const bool wanted = in_doubles_ || type == TokenType::normal ||
                        (type == TokenType::user_defined && spec.user_defined_frozen);
    if (!wanted || spec.tokens[i].empty() || first_invalid_utf8(spec.tokens[i])) continue;
    if (!in_doubles_ && type == TokenType::user_defined) {
      scores_[i] = static_cast<float>(static_cast<double>(spec.tokens[i].size()) * highest - 0.1);
    }
    pieces_.add(spec.tokens[i], static_cast<int32_t>(i));
  }
}

void UnigramModel::segment(std::string_view text, UnigramScratch& scratch,
                           std::vector<Segment>& segments) const {
  std::vector<UnigramScratch::Node>& nodes = scratch.nodes;
  nodes.assign(text.size() + 1, {0.0, -1, -1});
  const auto sum = [&](double a, double b) {
    return in_doubles_ ? a + b : static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
  };
  const auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    UnigramScratch::Node& node = nodes[end];
    if (node.begin >= 0 && score <= node.score) return;
    node = {score, id, static_cast<int32_t>(begin)};
  };
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    const size_t length = decode_valid(bytes + at).bytes;
    const double here = nodes[at].score;
    bool alone = false;  // the character is a piece by itself
    pieces_.each_at(text, at, [&](int32_t id, size_t size) {
      offer(at, at + size, id, sum(scores_[static_cast<size_t>(id)], here));
      alone = alone || size == length;
    });
    if (!alone) offer(at, at + length, unknown_id_, sum(unknown_score_, here));
    at += length;
  }
  scratch.path.clear();
  for (size_t end = text.size(); end > 0;) {
    const UnigramScratch::Node& node = nodes[end];
    scratch.path.push_back({node.id, static_cast<size_t>(node.begin), end});
    end = static_cast<size_t>(node.begin);
  }
  const size_t first = segments.size();
  for (auto step = scratch.path.rbegin(); step != scratch.path.rend(); ++step) {
    const bool unknown_run =
        step->id == unknown_id_ && segments.size() > first && segments.back().id == unknown_id_;
    if (unknown_run) {
      segments.back().end = step->end;
    } else {
      segments.push_back(*step);
    }
  }
}

}  // namespace troupe::text
