#include "actors/parts.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace troupe::actors {
namespace {

Status check_announcement(BulkKind kind, uint64_t total_bytes, uint64_t offset) {
  const uint64_t most = bytes_max(kind);
  if (most == 0) {
    return error(Code::invalid_argument,
                 concat("a transfer of the unknown kind ", static_cast<int>(kind), " began"),
                 "both ends must speak the same protocol version");
  }
  if (total_bytes > most) {
    return error(Code::invalid_argument,
                 concat("a ", name(kind), " of ", total_bytes, " bytes was announced"),
                 concat("at most ", most, " bytes are accepted"));
  }
  if (offset != 0) {
    return error(Code::invalid_argument,
                 concat("a transfer of a ", name(kind), " began at byte ", offset),
                 "it must begin at 0; after an error or a long silence it begins anew");
  }
  return {};
}

}  // namespace

const char* name(BulkKind kind) {
  switch (kind) {
    case BulkKind::prompt:
      return "prompt";
    case BulkKind::snapshot:
      return "snapshot";
    case BulkKind::schema:
      return "schema";
    case BulkKind::resume:
      return "resume";
  }
  return "unknown";
}

uint64_t bytes_max(BulkKind kind) {
  switch (kind) {
    case BulkKind::prompt:
      return limits::prompt_bytes_max;
    case BulkKind::snapshot:
      return limits::snapshot_bytes_max;
    case BulkKind::schema:
      return limits::schema_bytes_max;
    case BulkKind::resume:
      return limits::resume_bytes_max;
  }
  return 0;
}

Result<std::optional<std::string>> PartsAssembler::add(BulkKind kind, uint64_t transfer,
                                                       uint64_t total_bytes, uint64_t offset,
                                                       std::string_view bytes, TimeUs now) {
  auto found = open_.find(transfer);
  if (found == open_.end()) {
    TROUPE_TRY(check_announcement(kind, total_bytes, offset));
    if (open_.size() >= open_max_) {
      return error(Code::exhausted, concat("a peer has ", open_max_, " unfinished transfers open"),
                   "finish one before the next begins");
    }
    found = open_.emplace(transfer, Transfer{kind, total_bytes, now, {}}).first;
  }
  Transfer& open = found->second;
  const auto refuse = [&](std::string what, std::string hint) {
    open_.erase(found);
    return error(Code::invalid_argument, std::move(what), std::move(hint));
  };
  if (open.kind != kind || open.total_bytes != total_bytes) {
    return refuse(
        concat("a part announces a ", name(kind), " of ", total_bytes,
               " bytes; its transfer began as a ", name(open.kind), " of ", open.total_bytes),
        "every part of a transfer repeats the same kind and total");
  }
  const uint64_t held = open.bytes.size();
  if (offset != held) {
    return refuse(concat("a part of a ", name(kind), " begins at byte ", offset, " where byte ",
                         held, " is next"),
                  "parts come in order, without holes or overlap");
  }
  if (bytes.size() > limits::part_bytes || bytes.size() > total_bytes - held) {
    return refuse(concat("a part of ", bytes.size(), " bytes at byte ", offset, " of a ",
                         name(kind), " of ", total_bytes, " is too large"),
                  concat("a part holds at most ", limits::part_bytes,
                         " bytes and ends where its payload ends"));
  }
  if (bytes.empty() && total_bytes != 0) {
    return refuse(concat("a part of a ", name(kind), " is empty"),
                  "every part carries bytes, or a transfer would never end");
  }
  open.bytes.append(bytes);
  open.last_part = now;
  if (open.bytes.size() < total_bytes) return std::optional<std::string>{};
  std::optional<std::string> whole = std::move(open.bytes);
  open_.erase(found);
  return whole;
}

size_t PartsAssembler::expire(TimeUs now) {
  return std::erase_if(
      open_, [&](const auto& entry) { return now - entry.second.last_part >= timeout_us_; });
}

uint64_t PartsAssembler::bytes_held() const {
  uint64_t total = 0;
  for (const auto& [id, transfer] : open_) total += transfer.bytes.size();
  return total;
}

}  // namespace troupe::actors
