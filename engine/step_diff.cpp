#include "engine/step_diff.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/concat.hpp"

namespace troupe::engine {

namespace {

namespace fs = std::filesystem;

bool agree(const LoggedResult& a, const LoggedResult& b) {
  return a.token == b.token && a.bits == b.bits;
}

Result<std::vector<fs::path>> files_of(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) return error(Code::not_found, concat("there is no step log ", path));
  if (!fs::is_directory(status)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (fs::directory_iterator at(path, failure), end; !failure && at != end;
       at.increment(failure)) {
    if (at->path().extension() == ".steps") files.push_back(at->path());
  }
  if (failure) return error(Code::not_found, concat(path, ": ", failure.message()));
  if (files.empty()) {
    return error(Code::not_found, concat(path, " holds no step logs"), "files named *.steps");
  }
  std::sort(files.begin(), files.end());
  return files;
}

using TakeStep = std::function<Status(const LoggedStep&)>;

/// Gives every step of a file; `numerics_id` is set by the first file and must be that of all.
Status each_step(const fs::path& path, std::string& numerics_id, const TakeStep& take) {
  if (!fs::is_regular_file(path)) {
    return error(Code::invalid_argument, concat(path.string(), " is no file"), "a step log");
  }
  std::ifstream file(path);
  if (!file) return error(Code::not_found, concat(path.string(), " cannot be read"));
  StepLogReader reader;
  std::string line(limits::step_log_line_bytes_max + 2, '\0');
  const auto in_file = [&](Error failure) {
    failure.what = concat(path.string(), ": ", failure.what);
    return failure;
  };
  while (file.getline(line.data(), static_cast<std::streamsize>(line.size()))) {
    if (file.eof()) break;  // the process died in the middle of this line
    const auto length = static_cast<size_t>(file.gcount()) - 1;
    const Result<bool> whole = reader.take(std::string_view(line.data(), length));
    if (!whole) return in_file(whole.error());
    if (*whole) TROUPE_TRY(take(reader.step()));
  }
  if (!file.eof()) {
    return error(Code::corrupt, concat(path.string(), " has a line that is too long"),
                 concat("at most ", limits::step_log_line_bytes_max, " bytes"));
  }
  if (reader.numerics_id().empty()) {
    return error(Code::corrupt, concat(path.string(), " is no step log"),
                 "a file that TROUPE_STEP_LOG made");
  }
  if (numerics_id.empty()) numerics_id = reader.numerics_id();
  if (numerics_id != reader.numerics_id()) {
    return error(Code::failed_precondition,
                 concat(path.string(), " is of numerics ", reader.numerics_id(),
                        ", another log of ", numerics_id),
                 "compare runs of one compute mode and backend");
  }
  return reader.finish() ? take(reader.last()) : Status();
}

Status each_step(const std::vector<fs::path>& files, std::string& numerics_id,
                 const TakeStep& take) {
  for (const fs::path& file : files) TROUPE_TRY(each_step(file, numerics_id, take));
  return {};
}

/// Spans of the step that holds `place`.
void find_spans(LoggedPlace& place, const LoggedStep& step) {
  if (step.step != place.step || !place.spans.empty()) return;
  const auto& results = step.results;
  if (std::find(results.begin(), results.end(), place.result) != results.end()) {
    place.spans = step.spans;
  }
}

}  // namespace

StepDiff::Key StepDiff::key_of(const LoggedResult& result) {
  // A block and a draw may follow the same tokens; no draw has a sampling hash of 0 but by chance.
  return {result.prefix, result.kind == LoggedResult::Kind::draw ? result.sampling : 0};
}

Status StepDiff::add_a(const LoggedStep& step) {
  ++found_.steps_a;
  for (const LoggedResult& result : step.results) {
    if (result.kind == LoggedResult::Kind::failure) {
      ++found_.failures;
      continue;
    }
    const auto [at, is_new] = known_.try_emplace(key_of(result), Known{result, step.step, order_});
    ++order_;
    if (!is_new && !agree(at->second.result, result)) differ(at->second, result, step, true);
    if (known_.size() > limits::step_log_compared_max) {
      return error(Code::exhausted, "the step log has too many results to be compared",
                   concat("at most ", limits::step_log_compared_max));
    }
  }
  return {};
}

void StepDiff::add_b(const LoggedStep& step) {
  ++found_.steps_b;
  for (const LoggedResult& result : step.results) {
    if (result.kind == LoggedResult::Kind::failure) {
      ++found_.failures;
      continue;
    }
    const auto at = known_.find(key_of(result));
    if (at == known_.end()) {
      ++found_.only_b;
      continue;
    }
    ++found_.compared;
    at->second.seen_in_b = true;
    if (!agree(at->second.result, result)) differ(at->second, result, step, false);
  }
}

void StepDiff::differ(const Known& a, const LoggedResult& b, const LoggedStep& step,
                      bool same_log) {
  ++found_.differing;
  if (a.order >= first_order_) return;
  first_order_ = a.order;
  found_.first = StepDifference{{a.result, a.step, {}}, {b, step.step, {}}, same_log};
}

StepComparison StepDiff::finish() const {
  StepComparison result = found_;
  for (const auto& [key, known] : known_) {
    if (!known.seen_in_b) ++result.only_a;
  }
  return result;
}

Result<StepComparison> compare_step_logs(const std::string& a, const std::string& b) {
  TROUPE_ASSIGN(const std::vector<fs::path> files_a, files_of(a));
  TROUPE_ASSIGN(const std::vector<fs::path> files_b, files_of(b));
  StepDiff diff;
  std::string numerics_id;
  TROUPE_TRY(each_step(files_a, numerics_id, [&](const LoggedStep& s) { return diff.add_a(s); }));
  TROUPE_TRY(each_step(files_b, numerics_id, [&](const LoggedStep& s) {
    diff.add_b(s);
    return Status();
  }));
  StepComparison found = diff.finish();
  if (!found.first.has_value()) return found;
  StepDifference& first = *found.first;
  TROUPE_TRY(each_step(files_a, numerics_id, [&](const LoggedStep& s) {
    find_spans(first.a, s);
    if (first.same_log) find_spans(first.b, s);
    return Status();
  }));
  if (first.same_log) return found;
  TROUPE_TRY(each_step(files_b, numerics_id, [&](const LoggedStep& s) {
    find_spans(first.b, s);
    return Status();
  }));
  return found;
}

}  // namespace troupe::engine
