#include "tests/sim/fabric.hpp"

#include <caf/detail/dynamic_message_data.hpp>

#include "base/concat.hpp"

namespace troupe::sim {
namespace {

/// CAF compares actors by their node's id and their own, so each life has an id of its own.
caf::node_id node_of(LifeId life) {
  caf::node_id::default_data::host_id_type host{};
  host[0] = 1;
  return caf::make_node_id(life, host);
}

}  // namespace

void Proxy::enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) {
  // As CAF does: what is sent to the dead is lost without a word.
  if (target_) fabric_.forward(holder_, link_, target_, std::move(what));
}

void Proxy::kill_proxy(caf::execution_unit* unit, caf::error reason) {
  target_ = nullptr;
  cleanup(std::move(reason), unit);
}

void DevicePath::enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) {
  if (!device_) return;
  auto shared = std::make_shared<caf::mailbox_element_ptr>(std::move(what));
  fabric_.events().after(
      step_us_(), [shared, device = device_] { device->enqueue(std::move(*shared), nullptr); });
}

void DevicePath::kill_proxy(caf::execution_unit* unit, caf::error reason) {
  device_ = nullptr;
  cleanup(std::move(reason), unit);
}

Fabric::Fabric(caf::actor_system& system, Events& events, Links& links)
    : system_(system), events_(events), links_(links) {
  links_.on_lost = [this](LifeId holder, LinkId link) { lose(holder, link); };
}

LifeId Fabric::home(caf::actor_id actor) const {
  const auto found = homes_.find(actor);
  return found == homes_.end() ? 0 : found->second;
}

caf::strong_actor_ptr Fabric::proxy(LifeId holder, LinkId link,
                                    const caf::strong_actor_ptr& target) {
  caf::strong_actor_ptr& known = proxies_[{holder, link, target->id()}];
  if (known) return known;
  caf::actor_config config;
  known = caf::make_actor<Proxy, caf::strong_actor_ptr>(
      target->id(), node_of(home(target->id())), &system_, config, *this, holder, link, target);
  if (!links_.is_up(link, holder)) {
    static_cast<Proxy*>(known->get())
        ->kill_proxy(nullptr, caf::exit_reason::remote_link_unreachable);
  }
  return known;
}

caf::strong_actor_ptr Fabric::device_path(std::function<TimeUs()> step_us,
                                          caf::strong_actor_ptr device) {
  caf::actor_config config;
  paths_.push_back(caf::make_actor<DevicePath, caf::strong_actor_ptr>(
      system_.next_actor_id(), system_.node(), &system_, config, *this, std::move(step_us),
      std::move(device)));
  return paths_.back();
}

bool Fabric::encode(const caf::type_erased_tuple& content, LifeId from, std::vector<Element>& out) {
  for (size_t i = 0; i < content.size(); ++i) {
    Element element;
    element.type = content.type(i);
    if (content.match_element<caf::strong_actor_ptr>(i)) {
      element.is_actor = true;
      element.actor = content.get_as<caf::strong_actor_ptr>(i);
      if (element.actor && home(element.actor->id()) != from) {
        violation = "a message carries the handle of somebody else's actor";
        return false;
      }
    } else {
      caf::binary_serializer sink(static_cast<caf::execution_unit*>(nullptr), element.bytes);
      if (content.save(i, sink)) {
        violation = concat("a message can't be serialised: ", content.stringify());
        return false;
      }
      bytes += element.bytes.size();
    }
    out.push_back(std::move(element));
  }
  return true;
}

bool Fabric::decode(const std::vector<Element>& elements, LifeId to, LinkId link,
                    caf::message& out) {
  auto data = caf::make_counted<caf::detail::dynamic_message_data>();
  for (const Element& element : elements) {
    if (element.is_actor) {
      data->append(caf::make_type_erased_value<caf::strong_actor_ptr>(
          element.actor ? proxy(to, link, element.actor) : caf::strong_actor_ptr{}));
      continue;
    }
    auto value = element.type.first != 0 ? system_.types().make_value(element.type.first)
                                         : system_.types().make_value(*element.type.second);
    caf::binary_deserializer source(static_cast<caf::execution_unit*>(nullptr), element.bytes);
    if (!value || value->load(source)) {
      violation = "a message can't be read back";
      return false;
    }
    data->append(std::move(value));
  }
  out = caf::message(caf::detail::message_data::cow_ptr(std::move(data)));
  return true;
}

void Fabric::forward(LifeId from, LinkId link, const caf::strong_actor_ptr& target,
                     caf::mailbox_element_ptr what) {
  if (!links_.process(from).alive) return;  // its actors are being told to go
  auto elements = std::make_shared<std::vector<Element>>();
  if (!encode(what->content(), from, *elements)) return;
  const std::string type = trace ? what->content().stringify() : std::string();
  const caf::message_id id = what->mid;
  const caf::strong_actor_ptr sender = what->sender;
  const LifeId to = home(target->id());
  if (id.is_request() && sender) sent_requests.push_back({sender, id, type});
  ++messages;
  if (trace) trace(from, to, type);
  links_.send(link, from, [this, elements, target, sender, id, to](LinkId on) {
    caf::message message;
    if (!decode(*elements, to, on, message)) return;
    auto known = sender ? proxy(to, on, sender) : caf::strong_actor_ptr{};
    target->enqueue(caf::make_mailbox_element(std::move(known), id, {}, std::move(message)),
                    nullptr);
  });
}

void Fabric::lose(LifeId holder, LinkId link) {
  const auto begin = proxies_.lower_bound({holder, link, 0});
  const auto end = proxies_.lower_bound({holder, link + 1, 0});
  std::vector<caf::strong_actor_ptr> lost;
  for (auto it = begin; it != end; ++it) lost.push_back(it->second);
  proxies_.erase(begin, end);
  for (const caf::strong_actor_ptr& one : lost) {
    static_cast<Proxy*>(one->get())->kill_proxy(nullptr, caf::exit_reason::remote_link_unreachable);
  }
}

void Fabric::clear() {
  auto proxies = std::move(proxies_);
  proxies_.clear();
  for (auto& [key, one] : proxies) {
    static_cast<Proxy*>(one->get())->kill_proxy(nullptr, caf::exit_reason::user_shutdown);
  }
  for (auto& one : paths_) {
    static_cast<DevicePath*>(one->get())->kill_proxy(nullptr, caf::exit_reason::user_shutdown);
  }
  paths_.clear();
  published_.clear();
  sent_requests.clear();
}

}  // namespace troupe::sim
