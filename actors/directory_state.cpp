#include "actors/directory_state.hpp"

#include <algorithm>
#include <vector>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {

DirectoryState::DirectoryState(std::string cluster, std::string manifest_digest, TimeUs lease_us)
    : cluster_(std::move(cluster)),
      manifest_digest_(std::move(manifest_digest)),
      lease_us_(lease_us) {}

void DirectoryState::close() {
  closing_ = true;
  ++version_;
}

Result<v1::Members> DirectoryState::join(const v1::Join& join, TimeUs now) {
  const v1::NodeInfo& node = join.node();
  if (node.name().empty()) return error(Code::invalid_argument, "a node without a name joined");
  if (join.cluster() != cluster_) {
    return error(Code::invalid_argument, concat("node ", node.name(), " belongs to cluster \"",
                                                join.cluster(), "\", this is \"", cluster_, "\""));
  }
  const bool is_guest = join.manifest_digest().empty() && !manifest_digest_.empty();
  if (!is_guest && join.manifest_digest() != manifest_digest_) {
    return error(Code::failed_precondition,
                 concat("node ", node.name(), " was started from another manifest: its digest is ",
                        join.manifest_digest(), ", the cluster's is ",
                        manifest_digest_.empty() ? "none" : manifest_digest_),
                 "stop it, or bring the whole cluster down and up again with one manifest");
  }
  expire(now);
  auto found = members_.find(node.name());
  if (is_guest && found != members_.end() &&
      found->second.info.incarnation() != node.incarnation()) {
    return error(Code::unavailable, concat("the name ", node.name(), " is taken"),
                 "join under another name, or wait until that node is gone");
  }
  if (found == members_.end()) {
    if (members_.size() >= limits::nodes_max) {
      return error(Code::exhausted, concat("the cluster has ", members_.size(), " nodes already"));
    }
    found = members_.emplace(node.name(), Member{}).first;
  }
  Member& member = found->second;
  const uint64_t holder = member.info.incarnation();
  if (std::find(member.replaced.begin(), member.replaced.end(), node.incarnation()) !=
      member.replaced.end()) {
    return error(Code::failed_precondition,
                 concat("another process joined as node ", node.name(), " after this one"),
                 "two processes must not share a name");
  }
  if (holder != 0 && holder != node.incarnation()) {
    member.replaced.push_back(holder);
    if (member.replaced.size() > limits::replaced_max) member.replaced.pop_front();
  }
  const bool changed = member.info.SerializeAsString() != node.SerializeAsString();
  if (changed) {
    if (holder != node.incarnation()) {
      log_info("directory", concat("node ", node.name(), " joined at ", node.host(), ":",
                                   node.port(), ", pid ", node.pid()));
    }
    member.info = node;
    ++version_;
  }
  member.lease_end = now + lease_us_;
  return members();
}

void DirectoryState::leave(const std::string& name, uint64_t incarnation) {
  const auto found = members_.find(name);
  if (found == members_.end() || found->second.info.incarnation() != incarnation) return;
  log_info("directory", concat("node ", name, " left"));
  members_.erase(found);
  ++version_;
}

void DirectoryState::expire(TimeUs now) {
  for (auto it = members_.begin(); it != members_.end();) {
    if (it->second.lease_end >= now) {
      ++it;
      continue;
    }
    log_warning("directory", concat("the lease of node ", it->first, " ended"));
    it = members_.erase(it);
    ++version_;
  }
}

v1::Members DirectoryState::members() const {
  v1::Members reply;
  reply.set_version(version_);
  reply.set_lease_ms(static_cast<uint32_t>(lease_us_ / 1000));
  reply.set_closing(closing_);
  std::vector<const Member*> sorted;
  for (const auto& [name, member] : members_) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const Member* a, const Member* b) { return a->info.name() < b->info.name(); });
  for (const Member* member : sorted) *reply.add_nodes() = member->info;
  return reply;
}

}  // namespace troupe::actors
