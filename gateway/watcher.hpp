// Looks at the cluster a few times a second: what model it serves, whether a token could be
// produced now. One thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "actors/client.hpp"
#include "base/clock.hpp"

namespace troupe::gateway {

/// Why no token could be produced by a cluster that looks like this; empty: one could.
std::string why_unready(const actors::ClusterView& view);

class Watcher {
 public:
  /// The client must outlive it.
  explicit Watcher(actors::Client& client);
  ~Watcher();

  [[nodiscard]] std::shared_ptr<const actors::ModelCard> card() const;
  [[nodiscard]] std::string unready() const;

 private:
  void run();
  void look();
  void ask_card();

  actors::Client& client_;
  /// Shared with questions under way, which may end after this.
  struct State {
    mutable std::mutex mutex;
    std::shared_ptr<const actors::ModelCard> card;
    std::string why = "the cluster has not answered yet";
    TimeUs looked_us = 0;
    bool is_asking = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace troupe::gateway
