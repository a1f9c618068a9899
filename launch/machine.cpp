#include "launch/machine.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/concat.hpp"
#include "launch/files.hpp"

namespace troupe::launch {
namespace {

constexpr size_t number_file_bytes = 64;

std::string mib(uint64_t bytes) {
  return concat(bytes >> 20, " MiB");
}

bool holds_blocks(const PlannedProcess& process) {
  return process.is_here && process.kv_bytes > 0;
}

// The worker with the most KV memory: its field is the one to change.
const PlannedProcess* largest(const LaunchPlan& plan) {
  const PlannedProcess* found = nullptr;
  for (const PlannedProcess& process : plan.processes) {
    if (!holds_blocks(process)) continue;
    if (found == nullptr || process.kv_bytes > found->kv_bytes) found = &process;
  }
  return found;
}

uint64_t kv_bytes(const LaunchPlan& plan) {
  uint64_t sum = 0;
  for (const PlannedProcess& process : plan.processes) {
    // Saturates: every single amount fits, their sum need not.
    if (holds_blocks(process)) sum += std::min(process.kv_bytes, UINT64_MAX - sum);
  }
  return sum;
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
    if (holds_blocks(process)) files.insert(process.model_path);
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
  const PlannedProcess* most = largest(plan);
  if (most == nullptr) return {};
  const uint64_t blocks = kv_bytes(plan);
  const uint64_t weights = weight_bytes(plan);
  const std::string field = most->field + ".kv_memory";
  const uint64_t room = machine.memory_bytes - std::min(machine.memory_bytes, weights);
  if (machine.memory_bytes > 0 && blocks > room) {
    return error(Code::exhausted,
                 concat(manifest.where(field), field, ": the workers of host \"", plan.host,
                        "\" want ", mib(blocks), " of KV memory and ", mib(weights),
                        " of weights, and this machine has ", mib(machine.memory_bytes),
                        ", expected at most ", mib(room), " of KV memory in all"));
  }
  const v1::Manifest::Transport& transport = manifest.spec.transport();
  if (transport.shared_memory() && blocks > machine.shared_bytes) {
    const std::string numbers =
        concat("the workers of host \"", plan.host, "\" want ", mib(blocks),
               " of KV memory, and /dev/shm has ", mib(machine.shared_bytes), " free");
    if (!transport.tcp()) {
      return error(Code::exhausted,
                   concat(manifest.where(field), field, ": ", numbers, ", expected at most ",
                          mib(machine.shared_bytes), ", or transport.tcp: true"));
    }
    plan.notes.push_back(concat(numbers, ": blocks of pools that do not fit travel over TCP."));
  }
  if (machine.memory_bytes > 0 && blocks > room - room / 10) {
    plan.notes.push_back(concat("KV memory and weights need ", mib(blocks + weights), " of the ",
                                mib(machine.memory_bytes), " of this machine."));
  }
  return {};
}

}  // namespace troupe::launch
