// A draft actor that says whatever comes to its mind: late, never, twice, about sequences that
// nobody asked for, tokens that do not exist. None of it may change a text.
#pragma once

#include "actors/interfaces.hpp"
#include "tests/sim/random.hpp"

namespace troupe::sim {

actors::DraftActor::behavior_type liar(actors::DraftActor::pointer self, Random* random,
                                       int32_t vocab, caf::actor helper);
/// Runs closures; the liar's late answers come from here.
caf::behavior late_teller(caf::event_based_actor* self);

}  // namespace troupe::sim
