#pragma once

#include "trace/session_error.hpp"
#include "trace/session_rows.hpp"
#include "trace/sqlite.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>

namespace tferry::trace {

struct SessionWriterOptions {
  bool force = false;  ///< replace an existing file
  std::string
      build_directory;  ///< where to build; empty: beside the target, or in TMPDIR if that is a network place
};

/// Writes a session.
///
///   SessionWriter writer = SessionWriter::create("train.1.tferry");
///   const auto name = writer.intern("gemm");
///   writer.insert(KernelRow{.process_id = 1, .name_id = name, ...});
///   writer.publish();     // only now is there a file of that name, whole, with its indexes
///
/// A new session is built under another name without journal or syncs, in one transaction, and published by
/// rename; a writer that is dropped before publish() leaves nothing. An existing session is edited in place
/// in one transaction: readers see all of it or nothing.
///
/// All members throw SessionError. Threads: one at a time.
class SessionWriter {
 public:
  /// Throws at once if `path` exists and force is off, or cannot be written.
  static SessionWriter create(const std::string& path, const SessionWriterOptions& options = {});
  /// Opens an existing session for changes, bringing it to this schema version. A draft is a copy that nobody
  /// else opens and that is thrown away when the writing fails: it goes without a journal.
  static SessionWriter edit(const std::string& path, bool draft = false);
  ~SessionWriter();
  SessionWriter(SessionWriter&&) noexcept = default;
  SessionWriter& operator=(SessionWriter&&) = delete;

  /// Appends a row and returns its id: the row's own if it has one, else the one that SQLite gave.
  template <typename Row>
  std::int64_t insert(const Row& row) {
    try {
      auto& slot = std::get<Slot<Row>>(statements_).statement;
      if (!slot) slot.emplace(database_, insert_sql<Row>());
      Statement& statement = *slot;
      int parameter = 0;
      for_each_column<Row>([&]<typename Value>(const char* name, Value Row::* member) {
        ++parameter;
        if constexpr (std::is_same_v<Value, std::int64_t>) {
          if (row.*member == 0 && is_id(name)) return statement.bind_null(parameter);
        }
        statement.bind<true>(parameter, row.*member);
      });
      statement.run();
      return database_.last_insert_id();
    } catch (const SqliteError& error) {
      throw session_error(path_, error);
    }
  }

  /// Removes all rows of a table, which takes no time, or those that `where` (an SQL condition) names.
  template <typename Row>
  void clear(const std::string& where = "") {
    execute("DELETE FROM \"" + std::string(Row::kTable) + "\"" + (where.empty() ? "" : " WHERE " + where));
  }

  /// The id of a string in table `string`, adding it if it is new.
  std::int64_t intern(std::string_view text);
  void set_meta(const std::string& key, const std::string& value);
  void execute(const std::string& sql);
  /// For reading back while writing.
  Database& database() { return database_; }

  /// Ends the writing. Returns the size of the file in bytes.
  std::int64_t publish();

 private:
  template <typename Row>
  struct Slot {
    std::optional<Statement> statement;
  };
  template <typename>
  struct Slots;
  template <typename... Row>
  struct Slots<std::tuple<Row...>> {
    using type = std::tuple<Slot<Row>...>;
  };

  SessionWriter(const std::string& path, std::string building, bool force, Database database);
  static constexpr bool is_id(std::string_view name) { return name == "id"; }

  std::string path_;
  std::string building_;  ///< empty when editing in place, or when published
  bool force_ = false;
  bool open_ = true;
  Database database_;
  Slots<SessionRows>::type statements_;
  std::unordered_map<std::string, std::int64_t> strings_;
};

}  // namespace tferry::trace
