#include "base/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace troupe {

const std::vector<SettingDoc>& setting_docs() {
  using enum SettingDoc::For;
  static const std::vector<SettingDoc> docs = {
      {"TROUPE_LOG",
       "log level: debug, info, warning, error, off (default warning; info in the logs of a "
       "cluster's processes)"},
      {"TROUPE_API_KEY", "a key that HTTP requests must give (default: none)"},
      {"TROUPE_RUN_DIR",
       "where running clusters keep sockets, certificates and logs (default "
       "$XDG_RUNTIME_DIR/troupe, else /tmp/troupe-<uid>)"},
      {"TROUPE_READY_FD", "the descriptor on which a process writes \"ready <port>\"", processes},
      {"TROUPE_INCARNATION", "how often the process was started, from 1", processes},
      {"TROUPE_NODE_PORT", "the control port to listen on (0: a free one)", processes},
      {"TROUPE_ISA",
       "best instruction set to use: scalar, neon, avx2, avxvnni, avx512 (default: what the CPU "
       "has)"},
      {"TROUPE_PACK",
       "how weights come from a pack (troupe pack): map shares them with other processes, copy "
       "puts them on huge pages, which decode reads faster, off leaves it alone (default: copy "
       "where a process decodes, else map)"},
      {"TROUPE_STEP_LOG",
       "folder in which every worker logs its steps, for troupe diff-steps (default: no log)"},
      {"TROUPE_FIXTURES", "folder of the reference fixtures used by tests", tests},
      {"TROUPE_SIM_SEEDS", "how many seeds the simulation test runs (default 300)", tests},
      {"TROUPE_SIM_FIRST", "the first of them (default 1)", tests},
      {"TROUPE_SIM_SEED", "runs this one seed of the simulation and tells everything on stderr",
       tests},
      {"TROUPE_WEIGHTS", "folder of downloaded weights used by tests (default weights)", tests},
  };
  return docs;
}

std::optional<std::string> setting(const char* name) {
  for (const SettingDoc& doc : setting_docs()) {
    if (std::strcmp(doc.name, name) != 0) continue;
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  }
  std::fprintf(stderr, "setting %s is not declared in base/settings.cpp\n", name);
  std::abort();
}

}  // namespace troupe
