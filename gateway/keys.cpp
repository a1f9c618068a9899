#include "gateway/keys.hpp"

#include <algorithm>
#include <sstream>

#include "actors/runtime.hpp"
#include "base/concat.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

Result<Digest> parse_digest(std::string_view text) {
  Digest digest{};
  const Error bad = error(Code::invalid_argument, "sha256: has no 64 hex digits behind it");
  if (text.size() != 2 * digest.size()) return bad;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return bad;
    digest[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return digest;
}

Status check_key(std::string_view key) {
  const bool printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 127; });
  if (key.size() >= limits::key_bytes_min && key.size() <= limits::key_bytes_max && printable) {
    return {};
  }
  return error(Code::invalid_argument,
               concat("a key has ", key.size(), " characters",
                      printable ? "" : ", some of them not printable"),
               concat(limits::key_bytes_min, " to ", limits::key_bytes_max,
                      " printable characters without spaces; troupe key makes one"));
}

}  // namespace

Status KeyTable::add(std::string_view key, std::string tenant, bool is_observer) {
  TROUPE_TRY(check_key(key));
  if (keys_.size() >= limits::keys_max) {
    return error(Code::exhausted, concat("more than ", limits::keys_max, " keys"));
  }
  keys_.push_back({sha256(key), std::move(tenant), is_observer, false});
  return {};
}

Status KeyTable::add_line(const std::string& line, const std::vector<std::string>& tenants) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string key;
  if (!(words >> key)) return {};
  std::string tenant = "default";
  std::string role = "both";
  for (std::string word; words >> word;) {
    if (word.starts_with("tenant=")) {
      tenant = word.substr(7);
    } else if (word.starts_with("role=")) {
      role = word.substr(5);
    } else {
      return error(Code::invalid_argument, "there is a word behind the key that is not known",
                   "tenant=NAME or role=client, observer or both");
    }
  }
  if (role != "client" && role != "observer" && role != "both") {
    return error(Code::invalid_argument, concat("the role is ", role), "client, observer or both");
  }
  if (!tenants.empty() && std::ranges::find(tenants, tenant) == tenants.end()) {
    return error(Code::invalid_argument, concat("there is no tenant ", tenant),
                 "one of the manifest's tenants");
  }
  if (key.starts_with("sha256:")) {
    TROUPE_ASSIGN(const Digest digest, parse_digest(std::string_view(key).substr(7)));
    if (keys_.size() >= limits::keys_max) {
      return error(Code::exhausted, concat("more than ", limits::keys_max, " keys"));
    }
    keys_.push_back({digest, tenant, role != "client", false});
  } else {
    TROUPE_TRY(add(key, tenant, role != "client"));
  }
  keys_.back().is_observer_only = role == "observer";
  return {};
}

Status KeyTable::add_file(std::string_view text, const std::string& file_name,
                          const std::vector<std::string>& tenants) {
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (auto status = add_line(line, tenants); !status) {
      return error(status.error().code, concat(file_name, ":", number, ": ", status.error().what),
                   status.error().hint);
    }
  }
  return {};
}

const Key* KeyTable::find(std::string_view key) const {
  const Digest digest = sha256(key);
  const Key* found = nullptr;
  for (const Key& known : keys_) {
    uint8_t difference = 0;
    for (size_t i = 0; i < digest.size(); ++i) {
      difference = static_cast<uint8_t>(difference | (digest[i] ^ known.digest[i]));
    }
    if (difference == 0) found = &known;
  }
  return found;
}

std::string new_key() {
  Digest bits{};
  for (size_t i = 0; i < bits.size(); i += sizeof(uint64_t)) {
    const uint64_t word = actors::random_u64();
    for (size_t k = 0; k < sizeof word; ++k) bits[i + k] = static_cast<uint8_t>(word >> (8 * k));
  }
  return "tk-" + hex(bits);
}

}  // namespace troupe::gateway
