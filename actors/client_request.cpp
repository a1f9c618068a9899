// The way of one request through the client actor.
#include <algorithm>
#include <utility>

#include "actors/client_actor.hpp"
#include "actors/limits.hpp"
#include "actors/parts_sender.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

constexpr int retry_delay_ms = 150;

v1::PrepareRequest to_prepare(const ClientRequest& asked) {
  const GenerateRequest& request = asked.request;
  v1::PrepareRequest wire;
  wire.set_request_id(asked.id);
  wire.set_purpose(asked.purpose);
  wire.set_without_special(asked.without_special);
  wire.set_chat_json(request.chat_json);
  wire.set_model(request.model);
  wire.set_tenant(request.tenant);
  if (request.text) {
    wire.set_has_text(true);
    wire.set_text(*request.text);
  }
  for (const Message& message : request.messages) {
    v1::ChatMessage* added = wire.add_messages();
    added->set_role(message.role);
    added->set_content(message.content);
  }
  wire.mutable_token_ids()->Add(request.token_ids.begin(), request.token_ids.end());
  *wire.mutable_sampling() = schemas::to_wire(request.sampling);
  wire.set_has_seed(request.has_seed);
  wire.set_choices(request.choices);
  for (const std::string& stop : request.stop) wire.add_stop(stop);
  wire.set_parse_special(request.parse_special);
  for (const CacheMark& mark : request.cache_marks) {
    v1::CacheMark* added = wire.add_cache_marks();
    added->set_in_tools(mark.in_tools);
    added->set_index(mark.index);
    added->set_content_bytes(mark.content_bytes);
    added->set_ttl_s(mark.ttl_s);
  }
  return wire;
}

}  // namespace

ClientRequest* ClientCore::find(uint64_t id, uint64_t generation) {
  const auto found = requests_.find(id);
  if (found == requests_.end() || found->second.generation != generation) return nullptr;
  return &found->second;
}

void ClientCore::start(uint64_t id, GenerateRequest request, GenerateHandlers handlers) {
  ClientRequest& added = requests_[id];
  added.id = id;
  added.request = std::move(request);
  added.handlers = std::move(handlers);
  added.started_us = now_us();
  added.give_up_us = added.started_us + limits::wait_new_us;
  if (added.request.choices == 0 || added.request.choices > engine::limits::choices_max) {
    end(id, error(Code::invalid_argument, concat("n is ", added.request.choices),
                  concat("1 to ", engine::limits::choices_max)));
    return;
  }
  prepare(added);
}

void ClientCore::ask(FrontQuestion question) {
  const uint64_t id = random_u64();
  ClientRequest& added = requests_[id];
  added.id = id;
  added.purpose = question.purpose;
  added.without_special = question.without_special;
  added.request = std::move(question.request);
  added.answered = std::move(question.answered);
  added.handlers.on_end = [failed = std::move(question.failed)](Result<GenerateResult> result) {
    if (!result) failed(std::move(result).error());
  };
  added.started_us = now_us();
  added.give_up_us = added.started_us + limits::wait_new_us;
  prepare(added);
}

void ClientCore::later(const ClientRequest& request, int ms,
                       void (ClientCore::*again)(ClientRequest&)) {
  const uint64_t id = request.id;
  const uint64_t generation = request.generation;
  auto run = std::make_shared<std::function<void()>>([this, id, generation, again] {
    if (ClientRequest* found = find(id, generation)) (this->*again)(*found);
  });
  self_->delayed_send(caf::actor_cast<ClientActor>(self_), std::chrono::milliseconds(ms),
                      Closure{run});
}

void ClientCore::prepare(ClientRequest& request) {
  const uint64_t generation = ++request.generation;
  const uint64_t id = request.id;
  if (refusal_ || cluster_is_gone()) {
    end(id, refusal_ ? *refusal_ : gone());
    return;
  }
  if (now_us() > request.give_up_us) {
    end(id, error(Code::unavailable, "no front answered in time",
                  "troupe status shows what is running"));
    return;
  }
  avoid(std::exchange(request.asked_front, 0));
  std::string payload = to_prepare(request).SerializeAsString();
  auto again = [this, id, generation](const Error& why) {
    ClientRequest* found = find(id, generation);
    if (found == nullptr) return;
    if (why.code == Code::invalid_argument || why.code == Code::exhausted) {
      end(id, why);
      return;
    }
    later(*found, retry_delay_ms, &ClientCore::prepare);
  };
  with_role(
      "front", [this, id, generation, payload = std::move(payload), again](auto resolved) mutable {
        if (!resolved) {
          again(resolved.error());
          return;
        }
        ClientRequest* waits = find(id, generation);
        if (waits == nullptr) return;
        waits->asked_front = resolved->first.incarnation();
        auto front = caf::actor_cast<PartSink>(resolved->second);
        send_parts(self_, front, v1::PART_PREPARE, std::move(payload), [again](Status status) {
          if (!status) again(status.error());
        });
      });
  // The answer comes in parts; a front that died in between is asked again.
  later(request, limits::prepare_timeout_ms, &ClientCore::prepare);
}

void ClientCore::on_prepared(const v1::PreparedRequest& prepared) {
  const auto found = requests_.find(prepared.request_id());
  if (found == requests_.end() || found->second.prepared) return;
  ClientRequest& request = found->second;
  request.asked_front = 0;
  if (schemas::failed(prepared.failure())) {
    const Error why = schemas::from_wire(prepared.failure());
    if (why.code == Code::unavailable) {
      later(request, retry_delay_ms, &ClientCore::prepare);
    } else {
      end(request.id, why);
    }
    return;
  }
  if (request.answered) {
    const auto answered = std::move(request.answered);
    requests_.erase(found);
    answered(prepared);
    return;
  }
  request.prepared = true;
  request.resume = ResumePoint(prepared, request.request);
  place(request);
}

void ClientCore::place(ClientRequest& request) {
  const uint64_t generation = ++request.generation;
  const uint64_t id = request.id;
  const bool late = now_us() > request.give_up_us;
  // A stream that has begun is worth more patience than a request that has not.
  if (cluster_is_gone() && (late || request.attempts == 0)) {
    end(id, gone());
    return;
  }
  if (late) {
    end(id, error(Code::unavailable, "no worker could take the request in time",
                  request.explanation.empty() ? "troupe status shows what is running"
                                              : request.explanation));
    return;
  }
  v1::PlaceRequest wire;
  wire.set_request_id(id);
  wire.set_number(generation);
  wire.set_attempt(request.resume.attempt() + 1);
  const v1::PreparedRequest& prepared = request.resume.prepared();
  wire.set_names(prepared.names().substr(0, 16 * limits::names_max));
  wire.set_num_tokens(request.resume.num_tokens());
  // Output ends with the context, whatever was asked for.
  const auto prompt = static_cast<uint32_t>(prepared.prompt_size());
  const uint32_t room = prepared.context_max() > prompt ? prepared.context_max() - prompt : 1;
  // What another attempt drew before counts among the tokens already.
  const uint32_t drawn = request.resume.num_tokens() - prompt;
  const uint32_t most = std::min(prepared.sampling().max_tokens(), room);
  wire.set_max_tokens(most > drawn ? most - drawn : 1);
  wire.set_choices(request.request.choices);
  std::erase_if(request.excluded, [](const auto& entry) { return entry.second < now_us(); });
  for (const auto& [incarnation, until] : request.excluded) wire.add_exclude(incarnation);
  wire.set_explain(request.request.explain);
  wire.set_kv_fingerprint(prepared.kv_fingerprint());
  auto again = [this, id, generation] {
    if (ClientRequest* found = find(id, generation)) {
      later(*found, retry_delay_ms, &ClientCore::place);
    }
  };
  with_role("router", [this, id, generation, wire, again](auto resolved) {
    if (!resolved) {
      again();
      return;
    }
    ClientRequest* asks = find(id, generation);
    if (asks == nullptr) return;  // cancelled while the router was looked for
    const caf::strong_actor_ptr router = asks->router = resolved->second;
    self_
        ->request(caf::actor_cast<RouterActor>(router),
                  std::chrono::milliseconds(limits::answer_timeout_ms), wire)
        .then(
            [this, id, generation, router](const v1::Placement& placement) {
              on_placement(id, generation, router, placement);
            },
            [this, id, generation, router, again,
             incarnation = resolved->first.incarnation()](const caf::error&) {
              avoid(incarnation);
              // The question may still arrive; what it books is nobody's by then.
              update_booking(router, id, generation, true);
              again();
            });
  });
}

void ClientCore::on_placement(uint64_t id, uint64_t generation, const caf::strong_actor_ptr& router,
                              const v1::Placement& placement) {
  ClientRequest* request = find(id, generation);
  if (request == nullptr) {
    update_booking(router, id, generation, true);  // cancelled while the router was choosing
    return;
  }
  if (schemas::failed(placement.failure())) {
    const Error why = schemas::from_wire(placement.failure());
    request->explanation = why.message();
    if (why.code != Code::unavailable) {
      end(id, why);
      return;
    }
    later(*request, retry_delay_ms, &ClientCore::place);
    return;
  }
  request->placement = placement;
  request->explanation = placement.explanation();
  start_decode(*request);
}

void ClientCore::start_decode(ClientRequest& request) {
  const uint64_t generation = ++request.generation;
  const uint64_t id = request.id;
  resolve(self_, setup_.caller, request.placement.decode(), "decode",
          [this, id, generation](auto resolved) {
            ClientRequest* found = find(id, generation);
            if (found == nullptr) return;
            if (!resolved) {
              exclude(*found);
              retry(*found, resolved.error());
              return;
            }
            send_start(*found, resolved->second);
          });
}

void ClientCore::send_start(ClientRequest& request, const caf::strong_actor_ptr& decode) {
  const uint64_t id = request.id;
  const uint64_t generation = request.generation;
  request.decode = decode;
  request.attempts += 1;
  request.session = random_u64();
  heard_.try_emplace(decode, now_us());
  self_->monitor(decode);
  // The prefill worker goes first: it is the one with work to do.
  if (!request.placement.prefill().name().empty()) send_prefill(request);
  const v1::StartRequest start = request.resume.next_attempt(request.placement, request.session);
  request.start_parts =
      send_parts(self_, caf::actor_cast<PartSink>(decode), v1::PART_START,
                 start.SerializeAsString(), [this, id, generation](Status status) {
                   ClientRequest* found = find(id, generation);
                   if (found == nullptr) return;
                   if (status) {
                     found->start_parts = nullptr;
                     return;
                   }
                   if (status.error().code == Code::invalid_argument) {
                     drop_workers(*found);
                     end(id, std::move(status).error());
                     return;
                   }
                   retry(*found, status.error());
                 });
}

void ClientCore::send_prefill(ClientRequest& request) {
  v1::PrefillRequest prefill;
  prefill.set_request_id(request.id);
  prefill.set_attempt(request.resume.attempt() + 1);
  prefill.set_session(request.session);
  prefill.set_root(request.resume.prepared().root());
  const std::vector<int32_t> tokens = request.resume.prefill_tokens();
  prefill.mutable_tokens()->Add(tokens.begin(), tokens.end());
  if (!request.placement.fetch().name().empty()) {
    *prefill.mutable_fetch() = request.placement.fetch();
    prefill.set_fetch_blocks(request.placement.fetch_blocks());
    prefill.set_fetch_session(random_u64());
  }
  request.prefill_name = request.placement.prefill().name();
  std::string payload = prefill.SerializeAsString();
  resolve(self_, setup_.caller, request.placement.prefill(), "prefill",
          [this, id = request.id, session = request.session, payload](auto resolved) mutable {
            // When this fails the decode worker hears it from its attach and computes itself.
            if (!resolved) return;
            const auto found = requests_.find(id);
            if (found == requests_.end() || found->second.session != session) return;
            found->second.prefill = resolved->second;
            found->second.prefill_parts =
                send_parts(self_, caf::actor_cast<PartSink>(resolved->second), v1::PART_PREFILL,
                           std::move(payload), {});
          });
}

void ClientCore::drop_prefill(ClientRequest& request) {
  request.session = 0;  // a prefill worker that is still being looked for is not asked any more
  if (request.prefill_parts) request.prefill_parts->abort();
  request.prefill_parts = nullptr;
  if (!request.prefill) return;
  v1::Cancel cancel;
  cancel.set_request_id(request.id);
  cancel.set_attempt(request.resume.attempt());
  self_->send(caf::actor_cast<PrefillActor>(request.prefill), cancel);
  request.prefill = nullptr;
}

void ClientCore::drop_workers(ClientRequest& request) {
  drop_prefill(request);
  // A start that is still being sent must not be completed after the cancel.
  if (request.start_parts) request.start_parts->abort();
  request.start_parts = nullptr;
  if (!request.decode) return;
  v1::Cancel cancel;
  cancel.set_request_id(request.id);
  cancel.set_attempt(request.resume.attempt());
  self_->send(caf::actor_cast<DecodeActor>(request.decode), cancel);
  request.decode = nullptr;
}

void ClientCore::exclude(ClientRequest& request) {
  request.excluded[request.placement.decode().incarnation()] = now_us() + limits::exclude_us;
}

void ClientCore::retry(ClientRequest& request, const Error& why) {
  finish_booking(request);
  drop_workers(request);
  if (request.attempts >= limits::attempts_max) {
    end(request.id,
        error(why.code, concat("gave up after ", request.attempts, " attempts: ", why.what),
              why.hint));
    return;
  }
  log_info("client", concat("request continues elsewhere after ", request.resume.num_tokens(),
                            " tokens: ", why.what));
  request.give_up_us = now_us() + limits::place_timeout_us;
  place(request);
}

void ClientCore::cancel(uint64_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  drop_workers(found->second);
  end(id, error(Code::cancelled, "the request was cancelled"));
}

}  // namespace troupe::actors
