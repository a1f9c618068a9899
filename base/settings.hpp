// Every environment variable that Troupe reads, in one place, all with the prefix TROUPE_.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct SettingDoc {
  enum class For : uint8_t {
    users,
    processes,  ///< set by the supervisor of a cluster for those that it starts
    tests,
  };
  const char* name;
  const char* meaning;  ///< with default and unit
  For whom = For::users;
};

/// All variables, for --help and the manual.
const std::vector<SettingDoc>& setting_docs();

/// The value of a variable of setting_docs(); empty if unset. Asking for a name that is not listed
/// there is a defect and aborts.
std::optional<std::string> setting(const char* name);

}  // namespace troupe
