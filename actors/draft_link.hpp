// A worker's line to the draft actor, without CAF: one question message and one lesson at a time,
// so that an actor that is slow or stopped holds nothing up and nothing piles up before it.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/result.hpp"
#include "engine/engine.hpp"
#include "schemas/draft.pb.h"

namespace troupe::actors {

/// What the link asks of its shell. Calls must not re-enter the link.
struct DraftPorts {
  /// Answered by on_proposal() with the same number, whatever happens.
  std::function<void(uint64_t number, const v1::Propose&)> propose;
  /// Answered by on_taught() with the same number, whatever happens.
  std::function<void(uint64_t number, const v1::Lesson&)> teach;
  std::function<void(const v1::Feedback&)> feedback;
};

class DraftLink {
 public:
  /// The engine outlives the link.
  DraftLink(engine::Engine& engine, DraftPorts ports) : engine_(engine), ports_(std::move(ports)) {}

  /// There is an actor now, or none any more. Answers of one before are dropped.
  void set_present(bool present);
  [[nodiscard]] bool is_present() const { return present_; }

  /// A step was submitted: asks for the one after it, unless an answer is still awaited.
  void on_submitted();
  void on_proposal(uint64_t number, const Result<v1::Proposal>& proposal);
  void on_taught(uint64_t number, const Status& status);
  /// Passes on what there is to learn.
  void pump();
  /// Passes on how the proposals fared; call a few times a second.
  void on_tick();

 private:
  engine::Engine& engine_;
  DraftPorts ports_;
  bool present_ = false;
  uint64_t last_number_ = 0;
  std::optional<uint64_t> asked_, taught_;  ///< numbers of what is not answered yet
  std::deque<v1::Lesson> lessons_;
};

}  // namespace troupe::actors
