#include "launch/machine.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "launch/files.hpp"

namespace troupe::launch {
namespace {

constexpr size_t number_file_bytes = 64;

std::string mib(uint64_t bytes) {
  return concat(bytes >> 20, " MiB");
}

/// What the processes of this host are to have, in bytes. Sums saturate: every single amount fits,
/// their sum need not.
struct Wanted {
  uint64_t kv = 0, store = 0, draft = 0;

  [[nodiscard]] uint64_t shared() const { return sum(kv, store); }
  [[nodiscard]] uint64_t all() const { return sum(shared(), draft); }
  [[nodiscard]] std::string text() const {
    std::string words = concat(mib(kv), " of KV memory");
    if (store > 0) words += concat(", ", mib(store), " of store memory");
    if (draft > 0) words += concat(", ", mib(draft), " of draft memory");
    return words;
  }
  static uint64_t sum(uint64_t a, uint64_t b) { return a + std::min(b, UINT64_MAX - a); }
};

Wanted wanted_by(const LaunchPlan& plan) {
  Wanted wanted;
  for (const PlannedProcess& process : plan.processes) {
    if (!process.is_here) continue;
    wanted.kv = Wanted::sum(wanted.kv, process.kv_bytes);
    wanted.store = Wanted::sum(wanted.store, process.store_bytes);
    wanted.draft = Wanted::sum(wanted.draft, process.draft_bytes);
  }
  return wanted;
}

/// The largest single amount: its field is the one to change.
std::string largest_field(const LaunchPlan& plan) {
  uint64_t most = 0;
  std::string field;
  for (const PlannedProcess& process : plan.processes) {
    if (!process.is_here) continue;
    const std::pair<uint64_t, const char*> amounts[] = {{process.kv_bytes, ".kv_memory"},
                                                        {process.store_bytes, ".store_memory"},
                                                        {process.draft_bytes, ".draft_memory"}};
    for (const auto& [bytes, name] : amounts) {
      if (bytes <= most) continue;
      most = bytes;
      field = process.field + name;
    }
  }
  return field;
}

// Of a model file, or of the weights in a checkpoint's folder.
uint64_t model_bytes(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(path, unknown)) {
    const uint64_t bytes = std::filesystem::file_size(path, unknown);
    return unknown ? 0 : bytes;
  }
  uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, unknown)) {
    if (entry.path().extension() != ".safetensors") continue;
    const uint64_t bytes = entry.file_size(unknown);
    if (!unknown) sum += bytes;
  }
  return sum;
}

// The processes of a host map the same file, so it counts once.
uint64_t weight_bytes(const LaunchPlan& plan) {
  std::set<std::string> files;
  for (const PlannedProcess& process : plan.processes) {
    if (process.is_here && process.kv_bytes > 0) files.insert(process.model_path);
  }
  uint64_t sum = 0;
  for (const std::string& file : files) sum += model_bytes(file);
  return sum;
}

uint64_t control_group_limit() {
  const auto text = read_file("/sys/fs/cgroup/memory.max", number_file_bytes);
  uint64_t limit = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), limit);
  return limit;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  const auto pages = static_cast<uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
  machine.memory_bytes = pages * static_cast<uint64_t>(std::max(0l, ::sysconf(_SC_PAGESIZE)));
  if (const uint64_t limit = control_group_limit(); limit > 0) {
    machine.memory_bytes = std::min(machine.memory_bytes, limit);
  }
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) machine.shared_bytes = shared.f_bavail * shared.f_frsize;
  return machine;
}

Status check_memory(const Manifest& manifest, const Machine& machine, LaunchPlan& plan) {
  const Wanted wanted = wanted_by(plan);
  if (wanted.all() == 0) return {};
  const uint64_t weights = weight_bytes(plan);
  const std::string field = largest_field(plan);
  const std::string who = concat("the processes of host \"", plan.host, "\" want ");
  const uint64_t room = machine.memory_bytes - std::min(machine.memory_bytes, weights);
  if (machine.memory_bytes > 0 && wanted.all() > room) {
    return error(
        Code::exhausted,
        concat(manifest.where(field), field, ": ", who, wanted.text(), " and ", mib(weights),
               " of weights, and this machine has ", mib(machine.memory_bytes),
               ", expected at most ", mib(room), " without the", " weights"));
  }
  const v1::Manifest::Transport& transport = manifest.spec.transport();
  if (transport.shared_memory() && wanted.shared() > machine.shared_bytes) {
    const std::string numbers =
        concat(who, mib(wanted.shared()), " for KV blocks, and /dev/shm has ",
               mib(machine.shared_bytes), " free");
    if (!transport.tcp()) {
      return error(Code::exhausted,
                   concat(manifest.where(field), field, ": ", numbers, ", expected at most ",
                          mib(machine.shared_bytes), ", or transport.tcp: true"));
    }
    plan.notes.push_back(concat(numbers, ": blocks of pools that do not fit travel over TCP."));
  }
  if (machine.memory_bytes > 0 && wanted.all() > room - room / 10) {
    plan.notes.push_back(concat("Blocks, drafts and weights need ", mib(wanted.all() + weights),
                                " of the ", mib(machine.memory_bytes), " of this machine."));
  }
  return {};
}

}  // namespace troupe::launch
