#include "trace/session.hpp"

#include "trace/session_file.hpp"
#include "trace/session_schema.hpp"

#include <filesystem>
#include <unistd.h>

namespace tferry::trace {
namespace {

namespace fs = std::filesystem;

/// Opens and reads the schema, so that whatever SQLite finds wrong is found here.
std::unique_ptr<Database> open_checked(const std::string& path, Database::Mode mode) {
  auto database = std::make_unique<Database>(path, mode);
  database->integer("SELECT count(*) FROM sqlite_schema");
  return database;
}

std::unique_ptr<Database> open_database(const std::string& path) {
  const std::string directory = fs::absolute(path).parent_path().string();
  if (on_network_file_system(path)) return open_checked(path, Database::Mode::kReadOnlyImmutable);
  if (fs::exists(path + "-journal") && access(directory.c_str(), W_OK) == 0 &&
      access(path.c_str(), W_OK) == 0) {
    // Left by an edit that was killed, or belonging to one that runs: only a connection that may write can
    // tell, and puts the file back into the state before that edit.
    open_checked(path, Database::Mode::kReadWrite);
  }
  try {
    return open_checked(path, Database::Mode::kReadOnly);
  } catch (const SqliteError& error) {
    if (!error.cannot_open() && !error.read_only()) throw;
    return open_checked(path, Database::Mode::kReadOnlyImmutable);
  }
}

}  // namespace

Session Session::open(const std::string& path) {
  check_session_file(path);
  Session session(path);
  try {
    session.database_ = open_database(path);
    if (check_session_version(*session.database_, path) < kSessionVersion) {
      auto forward = std::make_unique<Database>();
      forward->copy_from(*session.database_);
      migrate(*forward, kSessionVersion, session_migrations());
      session.database_ = std::move(forward);
    }
  } catch (const SqliteError& error) {
    throw session_error(path, error);
  }
  return session;
}

std::int64_t Session::integer(const std::string& sql) {
  try {
    return database_->integer(sql);
  } catch (const SqliteError& error) {
    throw session_error(path_, error);
  }
}

const std::string& Session::string(std::int64_t id) {
  const auto [place, is_new] = strings_.try_emplace(id);
  if (is_new) {
    if (auto row = first<StringRow>("WHERE id = ?", id)) place->second = std::move(row->value);
  }
  return place->second;
}

std::optional<std::string> Session::meta(const std::string& key) {
  if (auto row = first<MetaRow>("WHERE key = ?", key)) return std::move(row->value);
  return std::nullopt;
}

std::string Session::label(const std::string& enumeration, std::int64_t value) {
  if (auto row = first<EnumerationRow>("WHERE name = ? AND value = ?", enumeration, value))
    return std::move(row->label);
  return std::to_string(value);
}

}  // namespace tferry::trace
