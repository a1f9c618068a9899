// Small files: bounded reads, atomic writes, private folders.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace troupe::launch {

/// "cannot open FILE: No such file or directory", from errno.
Error system_error(const std::string& what);

/// The whole file; an error if it is longer than `bytes_max` or not a regular file.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// The last lines of a file, at most limits::log_tail_lines; empty if it cannot be read.
std::string tail_of(const std::filesystem::path& path);

/// Replaces the file in one step (a reader sees the old or the new text), with mode 0600.
Status write_file(const std::filesystem::path& path, std::string_view text);

/// Writes a file that must not exist yet, with mode 0600.
Status create_file(const std::filesystem::path& path, std::string_view text);

/// Makes the folder with mode 0700 unless it exists; refuses one that is a link, belongs to another
/// user or can be entered by others (`is_shared_ok`: can be written by others).
Status make_private_folder(const std::filesystem::path& path, bool is_shared_ok = false);

}  // namespace troupe::launch
