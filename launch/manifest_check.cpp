#include "launch/manifest_check.hpp"

#include <map>
#include <set>

#include "base/concat.hpp"
#include "launch/limits.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

using google::protobuf::Message;

class Checker {
 public:
  Checker(v1::Manifest& manifest, const Positions& positions, Problems& problems)
      : manifest_(manifest), positions_(positions), problems_(problems) {}

  void run() {
    fill_hosts();
    check_unique(manifest_, "");
    check_references(manifest_, "");
    check_processes();
    check_process_names();
    check_ports();
    check_sense();
  }

 private:
  void add(const std::string& path, const std::string& what) {
    problems_.add(position_of(positions_, path), path + ": " + what);
  }

  std::vector<std::string> names_of(const std::string& list) const;
  void fill_hosts();
  void check_unique(const Message& message, const std::string& path);
  void check_references(const Message& message, const std::string& path);
  void check_reference(const FieldDescriptor& field, const std::string& value,
                       const std::string& path);
  void check_processes();
  void check_process_names();
  void fill_from_only(const char* list, const std::string& path, std::string& value);
  void check_ports();
  void check_sense();

  v1::Manifest& manifest_;
  const Positions& positions_;
  Problems& problems_;
  size_t num_processes_ = 0;
};

// Calls visit(entry, path) for every message inside, at any depth.
template <class Visit>
void for_each_message(const Message& message, const std::string& path, Visit visit) {
  const auto& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string name = path.empty() ? yaml_name(field) : path + "." + yaml_name(field);
    if (!field.is_repeated()) {
      visit(reflection.GetMessage(message, &field), name);
      continue;
    }
    for (int k = 0; k < reflection.FieldSize(message, &field); ++k) {
      visit(reflection.GetRepeatedMessage(message, &field, k), concat(name, "[", k, "]"));
    }
  }
}

std::vector<std::string> Checker::names_of(const std::string& list) const {
  std::vector<std::string> names;
  const FieldDescriptor* field = field_by_yaml_name(*manifest_.GetDescriptor(), list);
  const auto& reflection = *manifest_.GetReflection();
  for (int i = 0; i < reflection.FieldSize(manifest_, field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(manifest_, field, i);
    const FieldDescriptor* name = entry.GetDescriptor()->FindFieldByName("name");
    names.push_back(entry.GetReflection()->GetString(entry, name));
  }
  return names;
}

void Checker::fill_hosts() {
  if (manifest_.hosts_size() == 0) {
    v1::Manifest::Host& host = *manifest_.add_hosts();
    host.set_name("local");
    host.set_address("127.0.0.1");
  }
  for (v1::Manifest::Host& host : *manifest_.mutable_hosts()) {
    if (host.data_address().empty()) host.set_data_address(host.address());
  }
}

void Checker::check_unique(const Message& message, const std::string& path) {
  std::map<std::string, std::string> seen;  // list and value to path
  for_each_message(message, path, [&](const Message& entry, const std::string& entry_path) {
    check_unique(entry, entry_path);
    const std::string list = entry_path.substr(0, entry_path.find('['));
    const auto& type = *entry.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!rule_of(field).is_name() && !rule_of(field).is_unique()) continue;
      const std::string value = entry.GetReflection()->GetString(entry, &field);
      const std::string field_path = entry_path + "." + yaml_name(field);
      const auto [first, is_new] =
          seen.try_emplace(list + "\n" + field.name() + "\n" + value, field_path);
      if (value.empty() || is_new) continue;
      add(field_path, concat(in_quotes(value), " is taken, expected a ", yaml_name(field),
                             " of its own (it also stands on line ",
                             position_of(positions_, first->second).line, ")"));
    }
  });
}

void Checker::check_reference(const FieldDescriptor& field, const std::string& value,
                              const std::string& path) {
  if (value.empty()) return;
  const std::string& list = rule_of(field).refers_to();
  const auto names = names_of(list);
  for (const std::string& name : names) {
    if (name == value) return;
  }
  add(path,
      concat("there is no ", in_quotes(value), " in \"", list, "\", expected ",
             names.empty() ? "it to have an entry" : list_of(names), did_you_mean(value, names)));
}

void Checker::check_references(const Message& message, const std::string& path) {
  const auto& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (rule_of(field).refers_to().empty()) continue;
    const std::string field_path = path + "." + yaml_name(field);
    if (!field.is_repeated()) {
      check_reference(field, reflection.GetString(message, &field), field_path);
      continue;
    }
    for (int k = 0; k < reflection.FieldSize(message, &field); ++k) {
      check_reference(field, reflection.GetRepeatedString(message, &field, k),
                      concat(field_path, "[", k, "]"));
    }
  }
  for_each_message(message, path, [&](const Message& entry, const std::string& entry_path) {
    check_references(entry, entry_path);
  });
}

void Checker::fill_from_only(const char* list, const std::string& path, std::string& value) {
  if (!value.empty()) return;
  const auto names = names_of(list);
  if (names.size() == 1) {
    value = names.front();
  } else if (names.size() > 1) {
    add(path, concat("left out, expected ", list_of(names), ", as there is more than one in \"",
                     list, "\""));
  }
}

void Checker::check_processes() {
  for (int i = 0; i < manifest_.roles_size(); ++i) {
    v1::Manifest::Process& process = *manifest_.mutable_roles(i);
    const std::string path = concat("roles[", i, "]");
    fill_from_only("hosts", path + ".host", *process.mutable_host());
    bool needs_model = false;
    std::set<int> seen;
    for (int k = 0; k < process.run_size(); ++k) {
      const auto role = process.run(k);
      if (!seen.insert(role).second) {
        add(concat(path, ".run[", k, "]"),
            concat("\"", role_name(role), "\" stands twice, expected it once"));
      }
      needs_model = needs_model || role == v1::Manifest::ROLE_FRONT ||
                    role == v1::Manifest::ROLE_PREFILL || role == v1::Manifest::ROLE_DECODE;
    }
    if (seen.contains(v1::Manifest::ROLE_KV_STORE) &&
        (seen.contains(v1::Manifest::ROLE_PREFILL) || seen.contains(v1::Manifest::ROLE_DECODE))) {
      add(path + ".run", "a kv_store outlives the workers, expected a process of its own for it");
    }
    if (needs_model) fill_from_only("models", path + ".model", *process.mutable_model());
    if (process.count() > 1 && process.port() != 0) {
      add(path + ".port", concat(process.count(), " processes cannot share port ", process.port(),
                                 ", expected no port (one is chosen for each) or count: 1"));
    }
    num_processes_ += process.count();
  }
  if (num_processes_ > limits::processes) {
    add("roles", concat(num_processes_, " processes, expected at most ", limits::processes));
  }
}

// Why no process may have that name, as its files would be somebody else's; empty if it may.
std::string reserved_for(const std::string& name) {
  if (name == "client") return "the certificate of the users";
  if (name == "ca") return "the certificate of the authority";
  if (name == "supervisor") return "the log of the supervisor";
  return name.ends_with("-key") ? "the key of another certificate" : "";
}

void Checker::check_process_names() {
  if (num_processes_ > limits::processes) return;
  std::map<std::string, int> taken;
  for (int i = 0; i < manifest_.roles_size(); ++i) {
    const v1::Manifest::Process& process = manifest_.roles(i);
    const std::string path = concat("roles[", i, "]");
    if (const std::string owner = reserved_for(process.name()); !owner.empty()) {
      add(path + ".name", concat(in_quotes(process.name()), " is reserved for ", owner,
                                 ", expected another name, did you mean \"", process.name(),
                                 process.name().ends_with("-key") ? "s" : "-1", "\"?"));
    }
    for (uint32_t k = 1; k <= process.count(); ++k) {
      const bool is_counted = process.count() > 1;
      const std::string name = is_counted ? concat(process.name(), "-", k) : process.name();
      const auto [first, is_new] = taken.try_emplace(name, i);
      // Two equal names that were written out are told by check_unique.
      const bool is_written = !is_counted && manifest_.roles(first->second).count() <= 1;
      if (is_new || is_written || first->second == i) continue;
      add(is_counted ? path + ".count" : path + ".name",
          concat("process ", in_quotes(name), is_counted ? " of this count" : "",
                 " has the name of one of roles[", first->second, "] (line ",
                 position_of(positions_, concat("roles[", first->second, "]")).line,
                 "), expected another name"));
      break;
    }
  }
}

void Checker::check_ports() {
  std::map<std::pair<std::string, uint32_t>, int> taken;
  for (int i = 0; i < manifest_.roles_size(); ++i) {
    const v1::Manifest::Process& process = manifest_.roles(i);
    if (process.port() == 0) continue;
    const auto [first, is_new] = taken.try_emplace({process.host(), process.port()}, i);
    if (is_new) continue;
    const int line = position_of(positions_, concat("roles[", first->second, "].port")).line;
    add(concat("roles[", i, "].port"),
        concat(process.port(), " is used twice on host \"", process.host(),
               "\", expected a free port or none (it also stands on line ", line, ")"));
  }
}

void Checker::check_sense() {
  if (!manifest_.transport().shared_memory() && !manifest_.transport().tcp()) {
    add("transport.tcp", "shared_memory and tcp are both false, expected at least one to be true");
  }
  const v1::Manifest::Limits& limits = manifest_.limits();
  if (limits.chunk_tokens() > limits.step_tokens_max()) {
    add("limits.chunk_tokens", concat(limits.chunk_tokens(), " is more than step_tokens_max (",
                                      limits.step_tokens_max(), "), expected at most that"));
  }
}

}  // namespace

Position position_of(const Positions& positions, std::string path) {
  while (!path.empty()) {
    if (const auto found = positions.find(path); found != positions.end()) return found->second;
    const size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  return {};
}

void check_manifest(v1::Manifest& manifest, const Positions& positions, Problems& problems) {
  Checker(manifest, positions, problems).run();
}

}  // namespace troupe::launch
