#include "trace/session_writer.hpp"

#include "trace/session_detail.hpp"
#include "trace/session_file.hpp"
#include "trace/session_schema.hpp"

#include <atomic>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace tferry::trace {
namespace {

namespace fs = std::filesystem;
using Reason = SessionError::Reason;

/// A name of its own for each writer, so that two processes never build in one file.
std::string building_name(const std::string& path, const SessionWriterOptions& options) {
  const fs::path target(path);
  fs::path directory = target.parent_path();
  if (!options.build_directory.empty()) {
    directory = options.build_directory;
  } else if (on_network_file_system(directory.string())) {
    directory = fs::temp_directory_path();
  }
  static std::atomic<int> counter = 0;
  return (directory / ("." + target.filename().string() + ".building." + std::to_string(getpid()) + "." +
                       std::to_string(counter++)))
      .string();
}

}  // namespace

SessionWriter::SessionWriter(const std::string& path, std::string building, bool force, Database database)
    : path_(path), building_(std::move(building)), force_(force), database_(std::move(database)) {}

SessionWriter SessionWriter::create(const std::string& path, const SessionWriterOptions& options) {
  std::error_code ignored;
  if (!options.force && fs::exists(fs::symlink_status(path, ignored))) {
    throw SessionError(Reason::kExists, path + " exists already: choose another name or ask to overwrite it");
  }
  const fs::path directory = fs::path(path).parent_path();
  if (!directory.empty() && !fs::is_directory(directory, ignored)) {
    throw SessionError(Reason::kMissing,
                       "cannot write session " + path + ": there is no directory " + directory.string());
  }
  if (access(directory.empty() ? "." : directory.c_str(), W_OK) != 0) {
    throw SessionError(Reason::kReadOnly, "cannot write session " + path + ": " +
                                              (directory.empty() ? "." : directory.string()) +
                                              " cannot be written to; choose another place with -o");
  }
  const std::string building = building_name(path, options);
  try {
    SessionWriter writer(path, building, options.force, Database(building, Database::Mode::kCreate));
    for (const char* pragma : {"page_size=16384", "journal_mode=OFF", "synchronous=OFF",
                               "locking_mode=EXCLUSIVE", "cache_size=-65536", "temp_store=FILE"}) {
      writer.database_.execute(std::string("PRAGMA ") + pragma);
    }
    writer.database_.execute("BEGIN");
    create_schema(writer.database_);
    return writer;
  } catch (const SqliteError& error) {
    throw session_error(path, error);
  }
}

SessionWriter SessionWriter::edit(const std::string& path, bool draft) {
  check_session_file(path);
  if (access(path.c_str(), W_OK) != 0 || access(fs::absolute(path).parent_path().c_str(), W_OK) != 0) {
    throw SessionError(
        Reason::kReadOnly,
        "session " + path + " cannot be changed where it is: copy it to a place you can write to");
  }
  try {
    SessionWriter writer(path, "", false, Database(path, Database::Mode::kReadWrite));
    Database& database = writer.database_;
    database.execute("PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY");
    if (draft) database.execute("PRAGMA journal_mode=OFF; PRAGMA locking_mode=EXCLUSIVE");
    if (check_session_version(database, path) < kSessionVersion)
      migrate(database, kSessionVersion, session_migrations());
    database.execute("BEGIN IMMEDIATE");
    Statement strings(database, select_sql<StringRow>(""));
    while (strings.step()) writer.strings_.emplace(strings.text(1), strings.integer(0));
    return writer;
  } catch (const SqliteError& error) {
    throw session_error(path, error);
  }
}

SessionWriter::~SessionWriter() {
  if (!building_.empty()) unlink(building_.c_str());
}

std::int64_t SessionWriter::intern(std::string_view text) {
  const auto [place, is_new] = strings_.try_emplace(std::string(text), 0);
  if (is_new) place->second = insert(StringRow{.id = 0, .value = std::string(text)});
  return place->second;
}

void SessionWriter::set_meta(const std::string& key, const std::string& value) {
  try {
    Statement remove(database_, "DELETE FROM meta WHERE key = ?");
    remove.bind(1, key);
    remove.run();
  } catch (const SqliteError& error) {
    throw session_error(path_, error);
  }
  insert(MetaRow{key, value});
}

void SessionWriter::execute(const std::string& sql) {
  try {
    database_.execute(sql);
  } catch (const SqliteError& error) {
    throw session_error(path_, error);
  }
}

std::int64_t SessionWriter::publish() {
  try {
    statements_ = {};
    if (!building_.empty()) {
      create_indexes(database_);
      create_detail(database_);
      database_.execute("PRAGMA analysis_limit=1000; ANALYZE");
    }
    database_.execute("COMMIT");
    if (!building_.empty()) database_.execute("PRAGMA locking_mode=NORMAL");
    database_.close();
  } catch (const SqliteError& error) {
    throw session_error(path_, error);
  }
  if (!building_.empty()) {
    publish_file(building_, path_, force_);
    building_.clear();
  }
  return static_cast<std::int64_t>(fs::file_size(path_));
}

}  // namespace tferry::trace
