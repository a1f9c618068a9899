// The mistakes found in one file, each with its position, reported together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/yaml_tree.hpp"

namespace troupe::launch {

/// Where each field of a manifest stands, by its path: "roles[1].kv_memory".
using Positions = std::map<std::string, Position>;

class Problems {
 public:
  explicit Problems(std::string file_name) : file_name_(std::move(file_name)) {}

  void add(Position at, std::string what);
  [[nodiscard]] bool empty() const { return found_.empty(); }

  /// Success if nothing was found; else one line a mistake, in the order of the file.
  [[nodiscard]] Status status() const;

 private:
  struct Problem {
    Position at;
    std::string what;
  };
  std::string file_name_;
  std::vector<Problem> found_;
};

}  // namespace troupe::launch
