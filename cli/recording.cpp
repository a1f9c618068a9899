#include "cli/recording.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/concat.hpp"
#include "cli/message_json.hpp"

namespace troupe::cli {

Result<RecordingWriter> RecordingWriter::create(const std::string& path, const std::string& cluster,
                                                int64_t wall_us) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const bool exists = errno == EEXIST;
    return error(exists ? Code::failed_precondition : Code::unavailable,
                 concat("cannot record to ", path, ": ", std::strerror(errno)),
                 exists ? "another name, or remove the file first" : "");
  }
  std::FILE* file = ::fdopen(descriptor, "wb");
  if (file == nullptr) {
    ::close(descriptor);
    return error(Code::unavailable, concat("cannot record to ", path));
  }
  RecordingWriter writer(path, file);
  v1::RecordingHeader header;
  header.set_troupe_recording(recording_version);
  header.set_cluster(cluster);
  header.set_start_wall_us(wall_us);
  TROUPE_TRY(writer.write(header));
  return writer;
}

Status RecordingWriter::write(const google::protobuf::Message& line) {
  const std::string text = to_json_line(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0) {
    return error(Code::unavailable,
                 concat("cannot write to the recording ", path_, ": ", std::strerror(errno)),
                 "is the disk full?");
  }
  return {};
}

Status RecordingWriter::add_members(const v1::Members& members, int64_t wall_us) {
  v1::RecordedEvent event;
  event.set_wall_us(wall_us);
  *event.mutable_members() = members;
  return write(event);
}

Status RecordingWriter::add_update(const std::string& node, const v1::MetricsUpdate& update,
                                   int64_t wall_us) {
  v1::RecordedEvent event;
  event.set_wall_us(wall_us);
  event.set_node(node);
  *event.mutable_update() = update;
  return write(event);
}

Result<RecordingReader> RecordingReader::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return error(Code::not_found,
                 concat("cannot read the recording ", path, ": ", std::strerror(errno)));
  }
  RecordingReader reader(path, file);
  std::string line;
  TROUPE_ASSIGN(const bool any, reader.read_line(line));
  if (!any) {
    return error(Code::invalid_argument, concat(path, " is empty"),
                 "a recording of troupe monitor --record");
  }
  auto header = reader.parser_.take_line(line);
  if (!header) {
    return error(header.error().code, concat(path, ", ", header.error().what), header.error().hint);
  }
  return reader;
}

Result<bool> RecordingReader::read_line(std::string& line) {
  line.clear();
  for (int c = 0; (c = std::getc(file_.get())) != EOF;) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() > limits::json_line_bytes_max) {
      return error(Code::invalid_argument, concat(path_, " has a line that is too long"),
                   concat("at most ", limits::json_line_bytes_max, " bytes"));
    }
  }
  if (std::ferror(file_.get()) != 0) {
    return error(Code::unavailable, concat("cannot read ", path_, ": ", std::strerror(errno)));
  }
  return false;
}

Result<std::optional<v1::RecordedEvent>> RecordingReader::next() {
  std::string line;
  TROUPE_ASSIGN(const bool more, read_line(line));
  if (!more) return std::optional<v1::RecordedEvent>();
  auto event = parser_.take_line(line);
  if (!event) {
    return error(event.error().code, concat(path_, ", ", event.error().what), event.error().hint);
  }
  return event;
}

}  // namespace troupe::cli
