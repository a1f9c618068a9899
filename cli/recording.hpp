// A recording of a monitor: every message that it took, one JSON object a line, so that what was
// seen can be seen again without the cluster. The first line says the version of the format.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schemas/recording.pb.h"

namespace troupe::cli {

inline constexpr uint32_t recording_version = 1;

/// Writes a new file; what was written is in the file after each event.
class RecordingWriter {
 public:
  /// Errors: failed_precondition (the file exists: it is not overwritten), unavailable.
  static Result<RecordingWriter> create(const std::string& path, const std::string& cluster,
                                        int64_t wall_us);

  Status add_members(const v1::Members& members, int64_t wall_us);
  Status add_update(const std::string& node, const v1::MetricsUpdate& update, int64_t wall_us);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RecordingWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  Status write(const google::protobuf::Message& line);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Takes the lines of a recording one by one. No file in sight.
class RecordingParser {
 public:
  /// An event, or nothing for the header. Errors: invalid_argument or unsupported (a later
  /// version), with the number of the line and what is wrong in it.
  Result<std::optional<v1::RecordedEvent>> take_line(std::string_view line);

  /// Of the header; empty before it.
  [[nodiscard]] const v1::RecordingHeader& header() const { return header_; }

 private:
  Result<std::optional<v1::RecordedEvent>> read(std::string_view line);

  v1::RecordingHeader header_;
  uint64_t line_ = 0;
  int64_t last_wall_us_ = 0;
};

/// Reads a file line by line.
class RecordingReader {
 public:
  /// Reads the header as well. Errors: not_found, and what the parser says.
  static Result<RecordingReader> open(const std::string& path);

  /// The next event; nothing at the end of the file. A last line without its newline was not
  /// written to its end and is left out.
  Result<std::optional<v1::RecordedEvent>> next();
  [[nodiscard]] const v1::RecordingHeader& header() const { return parser_.header(); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RecordingReader(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  /// False at the end.
  Result<bool> read_line(std::string& line);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  RecordingParser parser_;
};

}  // namespace troupe::cli
