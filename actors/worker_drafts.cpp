// A worker's line to the draft actor of its cluster: which one, and the messages.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/worker.hpp"
#include "base/crc32c.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

bool plays(const v1::NodeInfo& node, const std::string& role) {
  return std::find(node.roles().begin(), node.roles().end(), role) != node.roles().end();
}

/// All workers of a model choose the same of several draft actors, or they would not share what
/// they know; and they keep it when others come and go.
const v1::NodeInfo* choose_draft(const v1::Members& members, const std::string& model) {
  const v1::NodeInfo* chosen = nullptr;
  uint32_t highest = 0;
  for (const v1::NodeInfo& node : members.nodes()) {
    if (!plays(node, "draft")) continue;
    const std::string key = concat(model, "\n", node.name());
    const uint32_t rank = crc32c(std::as_bytes(std::span(key)));
    if (chosen != nullptr && rank <= highest) continue;
    chosen = &node;
    highest = rank;
  }
  return chosen;
}

}  // namespace

std::unique_ptr<DraftLink> WorkerCore::make_draft_link() {
  const auto timeout = std::chrono::milliseconds(limits::request_timeout_ms);
  DraftPorts ports;
  ports.propose = [this, timeout](uint64_t number, const v1::Propose& propose) {
    self_->request(caf::actor_cast<DraftActor>(draft_.handle), timeout, propose)
        .then([this,
               number](const v1::Proposal& proposal) { drafts_->on_proposal(number, proposal); },
              [this, number](const caf::error& e) {
                drafts_->on_proposal(number, error(Code::unavailable, self_->system().render(e)));
              });
  };
  ports.teach = [this, timeout](uint64_t number, const v1::Lesson& lesson) {
    self_->request(caf::actor_cast<DraftActor>(draft_.handle), timeout, lesson)
        .then(
            [this, number](const v1::LessonReply&) {
              drafts_->on_taught(number, {});
              drafts_->pump();
            },
            [this, number](const caf::error& e) {
              drafts_->on_taught(number, error(Code::unavailable, self_->system().render(e)));
            });
  };
  ports.feedback = [this](const v1::Feedback& feedback) {
    self_->send(caf::actor_cast<DraftActor>(draft_.handle), feedback);
  };
  return std::make_unique<DraftLink>(*setup_.engine, std::move(ports));
}

void WorkerCore::follow_draft(const v1::Members& members) {
  if (!plays(routers_->own(), "decode")) return;
  const v1::NodeInfo* node = choose_draft(members, routers_->own().model());
  const uint64_t incarnation = node == nullptr ? 0 : node->incarnation();
  if (incarnation == draft_.node.incarnation()) return;
  lose_draft();
  if (node == nullptr) return;
  draft_.node = *node;
  resolve(self_, setup_.caller, *node, "draft", [this, incarnation](auto resolved) {
    if (incarnation != draft_.node.incarnation()) return;
    if (!resolved) {
      lose_draft();  // the next membership brings another try
      return;
    }
    draft_.handle = resolved->second;
    self_->monitor(draft_.handle);
    drafts_->set_present(true);
    log_info("worker", "drafts come from " + draft_.node.name());
  });
}

void WorkerCore::lose_draft() {
  draft_ = {};
  drafts_->set_present(false);
}

}  // namespace troupe::actors
