#include "trace/sqlite.hpp"

#include <sqlite3.h>

namespace tferry::trace {
namespace {

constexpr int kBusyTimeoutMs = 500;

[[noreturn]] void throw_error(sqlite3* handle, int code, const std::string& what) {
  const int extended = handle ? sqlite3_extended_errcode(handle) : code;
  const std::string text = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  throw SqliteError(extended == SQLITE_OK ? code : extended, what + ": " + text);
}

std::string uri_of(const std::string& path, Database::Mode mode) {
  std::string uri = "file:";
  // A relative path must not look like an authority, and '?', '#' and '%' are URI syntax.
  if (!path.starts_with('/')) uri += "./";
  for (const char c : path) {
    constexpr char kHex[] = "0123456789ABCDEF";
    if (c == '?' || c == '#' || c == '%') {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  switch (mode) {
    case Database::Mode::kReadOnly:
      return uri + "?mode=ro";
    case Database::Mode::kReadOnlyImmutable:
      return uri + "?mode=ro&immutable=1";
    case Database::Mode::kReadWrite:
      return uri + "?mode=rw";
    case Database::Mode::kCreate:
      break;
  }
  return uri + "?mode=rwc";
}

int primary(int code) { return code & 0xff; }

}  // namespace

bool SqliteError::busy() const { return primary(code_) == SQLITE_BUSY || primary(code_) == SQLITE_LOCKED; }
bool SqliteError::corrupt() const {
  return primary(code_) == SQLITE_CORRUPT || primary(code_) == SQLITE_NOTADB;
}
bool SqliteError::read_only() const {
  return primary(code_) == SQLITE_READONLY || primary(code_) == SQLITE_PERM;
}
bool SqliteError::cannot_open() const { return primary(code_) == SQLITE_CANTOPEN; }
bool SqliteError::disk_full() const { return primary(code_) == SQLITE_FULL; }

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      uri_of(path, mode).c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) throw_error(handle, code, "open " + path);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // Session files come from elsewhere: nothing in a schema may run, and every page is checked as it is read.
  // (Files of our own making are spared the first rule, which also forbids to go without a journal.)
  if (mode != Mode::kCreate) sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_exec(handle, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
}

Database::Database() {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) throw_error(handle, code, "open a database in memory");
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_error(handle(), code, sql.substr(0, 60));
}

std::int64_t Database::integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle()); }
std::int64_t Database::changes() const { return sqlite3_changes64(handle()); }

void Database::copy_from(Database& source) {
  sqlite3_backup* backup = sqlite3_backup_init(handle(), "main", source.handle(), "main");
  if (!backup) throw_error(handle(), SQLITE_ERROR, "copy a database");
  sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) throw_error(handle(), code, "copy a database");
}

void Database::close() {
  const int code = sqlite3_close(handle());
  if (code != SQLITE_OK) throw_error(handle(), code, "close");
  handle_.release();
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

Statement::Statement(Database& database, const std::string& sql) : database_(database.handle()) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(database_, sql.c_str(), static_cast<int>(sql.size()), &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) throw_error(database_, code, sql.substr(0, 200));
  if (!handle) throw SqliteError(SQLITE_MISUSE, "empty SQL statement");
}

void Statement::fail(int code) const {
  const char* sql = sqlite3_sql(handle_.get());
  throw_error(database_, code, std::string(sql ? sql : "").substr(0, 200));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(code);
}

void Statement::bind_null(int parameter) { check(sqlite3_bind_null(handle_.get(), parameter)); }
void Statement::bind_integer(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), parameter, value));
}
void Statement::bind_real(int parameter, double value) {
  check(sqlite3_bind_double(handle_.get(), parameter, value));
}
void Statement::bind_text(int parameter, std::string_view value) {
  const char* data = value.data() ? value.data() : "";
  check(sqlite3_bind_text64(handle_.get(), parameter, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind_borrowed_text(int parameter, std::string_view value) {
  const char* data = value.data() ? value.data() : "";
  check(sqlite3_bind_text64(handle_.get(), parameter, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail(code);
}

void Statement::run() {
  const int code = sqlite3_step(handle_.get());
  if (code != SQLITE_DONE && code != SQLITE_ROW) {
    const SqliteError error(sqlite3_extended_errcode(database_), std::string(sqlite3_errmsg(database_)));
    sqlite3_reset(handle_.get());
    throw error;
  }
  sqlite3_reset(handle_.get());
}

void Statement::reset() { sqlite3_reset(handle_.get()); }

int Statement::column_count() const { return sqlite3_column_count(handle_.get()); }
std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(handle_.get(), column);
  return name ? name : "";
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_.get(), column); }
std::string_view Statement::text(int column) const {
  const void* data = sqlite3_column_text(handle_.get(), column);
  if (!data) return {};
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::string sqlite_version() { return sqlite3_libversion(); }

}  // namespace tferry::trace
