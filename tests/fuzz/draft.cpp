// Any sequence of messages to a draft actor: it stays within its memory, answers each question, and
// proposes only what it was taught under that group. draft_desk.cpp is compiled in here, so that
// the target needs no actor library.
#include <cstdlib>
#include <string_view>

#include "actors/draft_desk.cpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr size_t bytes_max = 64 * 1024;

using Taught = std::map<std::string, std::vector<std::vector<int32_t>>>;

bool was_taught(const Taught& taught, const v1::DraftAsk& ask, const v1::DraftAnswer& answer) {
  const auto group = taught.find(ask.group());
  if (group == taught.end() || answer.match() > static_cast<uint32_t>(ask.context_size())) {
    return false;
  }
  std::vector<int32_t> run(ask.context().end() - static_cast<int>(answer.match()),
                           ask.context().end());
  run.insert(run.end(), answer.tokens().begin(), answer.tokens().end());
  return std::any_of(group->second.begin(), group->second.end(), [&](const auto& tokens) {
    return std::search(tokens.begin(), tokens.end(), run.begin(), run.end()) != tokens.end();
  });
}

void propose(DraftDesk& desk, const Taught& taught, const v1::Propose& message) {
  const v1::Proposal proposal = desk.on_propose(message);
  if (proposal.answers_size() > message.asks_size()) std::abort();
  for (int i = 0; i < proposal.answers_size(); ++i) {
    const v1::DraftAnswer& answer = proposal.answers(i);
    if (answer.position() != message.asks(i).position()) std::abort();
    if (answer.tokens_size() > static_cast<int>(engine::limits::run_tokens)) std::abort();
    if (answer.match() > 0 && !was_taught(taught, message.asks(i), answer)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  DraftDesk desk(bytes_max);
  Taught taught;
  // A message: kind, length, bytes.
  while (size >= 2) {
    const uint8_t kind = data[0];
    const size_t length = std::min<size_t>(data[1], size - 2);
    const std::string bytes(reinterpret_cast<const char*>(data + 2), length);
    data += 2 + length;
    size -= 2 + length;
    v1::Lesson lesson;
    v1::Propose asks;
    v1::Feedback feedback;
    if (kind % 3 == 0 && lesson.ParseFromString(bytes)) {
      taught[lesson.group()].emplace_back(lesson.tokens().begin(), lesson.tokens().end());
      if (desk.on_lesson(lesson).bytes() > bytes_max) std::abort();
    } else if (kind % 3 == 1 && asks.ParseFromString(bytes)) {
      propose(desk, taught, asks);
    } else if (kind % 3 == 2 && feedback.ParseFromString(bytes)) {
      desk.on_feedback(feedback);
    }
  }
  return 0;
}
