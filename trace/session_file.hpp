#pragma once

#include "trace/session_error.hpp"

#include <string>

namespace tferry::trace {

/// Whether the file system of an existing path is one where SQLite's locks cannot be relied on (NFS, SMB,
/// Lustre, ...).
bool on_network_file_system(const std::string& path);

/// Looks at the file itself, before SQLite does: throws SessionError if it is missing, no file, unreadable,
/// empty, no SQLite database or shorter than its header says.
void check_session_file(const std::string& path);

/// Gives a finished file its name: by rename where both are on one file system, else by a copy beside the
/// target, made durable, and a rename. Never replaces a file unless `force`. Throws SessionError; `from` then
/// stays.
void publish_file(const std::string& from, const std::string& to, bool force);

}  // namespace tferry::trace
