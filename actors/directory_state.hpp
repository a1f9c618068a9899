// Membership as the directory decides it: who is there, with leases. No CAF.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "actors/limits.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "schemas/cluster.pb.h"

namespace troupe::actors {

class DirectoryState {
 public:
  DirectoryState(std::string cluster, std::string manifest_digest,
                 TimeUs lease_us = limits::lease_us);

  /// Joins a node or renews its lease. A new incarnation of a name replaces the old one.
  /// A node without a digest follows no manifest (`troupe node --join`): it never replaces a
  /// member. Errors: invalid_argument (no name, other cluster), failed_precondition (another
  /// manifest, or an older incarnation than the one that holds the name), unavailable (the name is
  /// taken, for now), exhausted (nodes_max).
  Result<v1::Members> join(const v1::Join& join, TimeUs now);
  /// Ends the membership of exactly this incarnation.
  void leave(const std::string& name, uint64_t incarnation);
  /// Drops nodes whose lease ended.
  void expire(TimeUs now);

  /// The whole cluster is being stopped: members hear it with their next renewal.
  void close();

  [[nodiscard]] v1::Members members() const;

 private:
  struct Member {
    v1::NodeInfo info;
    TimeUs lease_end = 0;
    std::deque<uint64_t> replaced;  ///< incarnations that had the name before, newest last
  };

  std::string cluster_;
  std::string manifest_digest_;
  TimeUs lease_us_;
  bool closing_ = false;
  uint64_t version_ = 1;
  std::unordered_map<std::string, Member> members_;
};

}  // namespace troupe::actors
