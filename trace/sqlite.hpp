#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

struct sqlite3;
struct sqlite3_stmt;

namespace tferry::trace {

/// SQLite said no. `code` is SQLite's extended result code, what() its own text with what was tried.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }
  /// Another connection holds a lock.
  bool busy() const;
  /// The file's pages contradict each other, or it is no database.
  bool corrupt() const;
  bool read_only() const;
  bool cannot_open() const;
  bool disk_full() const;

 private:
  int code_;
};

/// One connection. Threads: one at a time, together with all its statements.
class Database {
 public:
  enum class Mode {
    kReadOnly,
    kReadOnlyImmutable,  ///< no locks, no journal: only for files that nobody changes
    kReadWrite,          ///< must exist
    kCreate              ///< must not exist yet, or be empty
  };

  Database(const std::string& path, Mode mode);
  /// An empty database in memory.
  Database();
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  /// Runs one or several statements and drops their rows.
  void execute(const std::string& sql);
  /// The first column of the first row, 0 if there is none.
  std::int64_t integer(const std::string& sql);
  std::string text(const std::string& sql);

  std::int64_t last_insert_id() const;
  std::int64_t changes() const;
  /// Replaces all contents of this database by those of another.
  void copy_from(Database& source);
  /// Closes now, so that an error can be told; statements must be gone.
  void close();

  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement. Parameters are numbered from 1 and columns from 0, as in SQLite. Threads: its
/// connection's.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);

  void bind_null(int parameter);
  void bind_integer(int parameter, std::int64_t value);
  void bind_real(int parameter, double value);
  void bind_text(int parameter, std::string_view value);
  /// The same without a copy: the text must stay until the statement has run.
  void bind_borrowed_text(int parameter, std::string_view value);

  /// One of the above by type; enumerations as their numbers, empty optionals as NULL.
  template <bool kBorrow = false, typename Value>
  void bind(int parameter, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      bind_integer(parameter, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_integral_v<Value>) {
      bind_integer(parameter, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<Value>) {
      bind_real(parameter, value);
    } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
      kBorrow ? bind_borrowed_text(parameter, value) : bind_text(parameter, value);
    } else if (value) {
      bind<kBorrow>(parameter, *value);
    } else {
      bind_null(parameter);
    }
  }

  /// To the next row; false at the end.
  bool step();
  /// Runs a statement that has no rows, and makes it ready to run again.
  void run();
  void reset();

  int column_count() const;
  std::string column_name(int column) const;
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  /// Until the next step.
  std::string_view text(int column) const;
  /// As SQLite would print it; empty for NULL.
  std::string shown(int column) const { return std::string(text(column)); }

  template <typename Value>
  void get(int column, Value& value) const {
    if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>) {
      value = static_cast<Value>(integer(column));
    } else if constexpr (std::is_floating_point_v<Value>) {
      value = real(column);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value = text(column);
    } else if (is_null(column)) {
      value.reset();
    } else {
      get(column, value.emplace());
    }
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  [[noreturn]] void fail(int code) const;
  void check(int code) const;

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// The library's version, for reports.
std::string sqlite_version();

}  // namespace tferry::trace
