#pragma once

#include "trace/sqlite.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace tferry::trace {

// The schema of a session: one SQLite database per recording, extension .tferry. The tables are those of
// SessionRows; docs/schema.md documents them, and a test compares the two.

inline constexpr std::int64_t kSessionApplicationId = 0x54'46'52'59;  // "TFRY", PRAGMA application_id
inline constexpr int kSessionVersion = 6;                             // PRAGMA user_version

/// One step forward, from `from` to from + 1.
struct Migration {
  int from;
  const char* sql;
};

/// The steps from version 1 to kSessionVersion.
std::span<const Migration> session_migrations();

/// Makes all tables, names the enumerations and marks the database as a session. Indexes come when the data
/// is in.
void create_schema(Database& database);
void create_indexes(Database& database);

/// Throws SessionError unless this is a session of a version that this program knows. Returns the version.
int check_session_version(Database& database, const std::string& path);

/// Brings a session of an older version to version `to`, all or nothing. Throws SqliteError; a missing step
/// is one.
void migrate(Database& database, int to, std::span<const Migration> migrations);

}  // namespace tferry::trace
