// What a manifest must fulfil beyond the types of its fields: names, references, ports, sense.
#pragma once

#include <string>

#include "launch/problems.hpp"
#include "schemas/manifest.pb.h"

namespace troupe::launch {

/// Completes what may be left out (the only host, the only model) and adds every contradiction to
/// `problems`.
void check_manifest(v1::Manifest& manifest, const Positions& positions, Problems& problems);

/// The position of a field, or of the nearest thing around it.
Position position_of(const Positions& positions, std::string path);

}  // namespace troupe::launch
