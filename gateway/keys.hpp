// Who may ask: keys, kept as SHA-256, each with the tenant that it belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"

namespace troupe::gateway {

struct Key {
  Digest digest{};
  std::string tenant = "default";
  bool is_observer = false;  ///< may read /metrics; generates nothing if `is_observer_only`
  bool is_observer_only = false;
};

class KeyTable {
 public:
  /// Errors: invalid_argument (too short to be safe, too long, other than printable ASCII),
  /// exhausted (limits::keys_max). The key itself is in no error.
  Status add(std::string_view key, std::string tenant = "default", bool is_observer = true);
  /// One key a line: `KEY [tenant=NAME] [role=client|observer|both]` (default both); `sha256:HEX`
  /// stands for a key that is written down nowhere. # begins a comment. `tenants`: legal names;
  /// empty: all.
  Status add_file(std::string_view text, const std::string& file_name,
                  const std::vector<std::string>& tenants = {});

  /// The entry of a key, or null; takes the same time whichever it is.
  [[nodiscard]] const Key* find(std::string_view key) const;
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] size_t size() const { return keys_.size(); }

 private:
  Status add_line(const std::string& line, const std::vector<std::string>& tenants);

  std::vector<Key> keys_;
};

/// "tk-" and 256 random bits in hex.
std::string new_key();

}  // namespace troupe::gateway
