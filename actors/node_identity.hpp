// A random CAF node id per process. CAF 0.17 derives it from MAC addresses, /etc/fstab and the pid,
// which collides between containers: two peers would be taken for one.
#pragma once

#include <caf/all.hpp>
#include <random>

namespace troupe::actors {

namespace detail {

// actor_system::node_ is private and has no setter; an explicit template instantiation may name it.
template <class Tag, typename Tag::Type member>
struct MemberAccess {
  friend typename Tag::Type member_of(Tag) { return member; }
};

struct NodeIdTag {
  using Type = caf::node_id caf::actor_system::*;
  friend Type member_of(NodeIdTag);
};

template struct MemberAccess<NodeIdTag, &caf::actor_system::node_>;

}  // namespace detail

/// Load after io::middleman. Uses the module slot that CAF 0.17 leaves empty.
class NodeIdentity : public caf::actor_system::module {
 public:
  explicit NodeIdentity(caf::actor_system& system) : system_(system) {}

  static module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new NodeIdentity(system);
  }

  void start() override {}
  void stop() override {}

  void init(caf::actor_system_config&) override {
    std::random_device device;
    caf::node_id::default_data::host_id_type host;
    for (auto& byte : host) byte = static_cast<uint8_t>(device());
    system_.*member_of(detail::NodeIdTag{}) = caf::make_node_id(device() | 1u, host);
  }

  id_t id() const override { return network_manager; }
  void* subtype_ptr() override { return this; }

 private:
  caf::actor_system& system_;
};

}  // namespace troupe::actors
