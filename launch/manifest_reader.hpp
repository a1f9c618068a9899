// Maps a YAML tree on the manifest message, strictly, by the message's own description.
#pragma once

#include "launch/problems.hpp"
#include "launch/yaml_tree.hpp"
#include "schemas/manifest.pb.h"

namespace troupe::launch {

/// Fills `out`, with the default of every absent field; records where each field stands and every
/// mistake: unknown fields, duplicates, wrong types, missing fields, values out of range. What has
/// a mistake is left at its default.
void read_manifest(const YamlNode& root, v1::Manifest& out, Positions& positions,
                   Problems& problems);

}  // namespace troupe::launch
