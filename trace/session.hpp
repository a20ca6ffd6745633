#pragma once

#include "trace/session_error.hpp"
#include "trace/session_rows.hpp"
#include "trace/sqlite.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tferry::trace {

/// The rows that a select yields, one by one: an input range, to be walked once. Throws SessionError on the
/// way if the file turns out to be damaged.
template <typename Row>
class SessionRange {
 public:
  class Iterator {
   public:
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit Iterator(SessionRange* range) : range_(range) {}
    const Row& operator*() const { return range_->row_; }
    const Row* operator->() const { return &range_->row_; }
    Iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { range_->advance(); }
    bool operator==(std::default_sentinel_t) const { return range_->done_; }

   private:
    SessionRange* range_;
  };

  SessionRange(std::string path, Statement statement)
      : path_(std::move(path)), statement_(std::move(statement)) {}
  Iterator begin() {
    advance();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  void advance() {
    try {
      done_ = !statement_.step();
      if (done_) return;
      int column = 0;
      for_each_column<Row>([&](const char*, auto member) { statement_.get(column++, row_.*member); });
    } catch (const SqliteError& error) {
      throw session_error(path_, error);
    }
  }

  std::string path_;
  Statement statement_;
  Row row_;
  bool done_ = false;
};

/// Reads a session.
///
///   Session session = Session::open("train.1.tferry");
///   for (const KernelRow& kernel : session.rows<KernelRow>("WHERE start_ns >= ? ORDER BY start_ns", from)) {
///   ... }
///
/// Opens read-only. Where the place is read-only or its locks cannot be relied on (network file systems), it
/// opens as immutable: such a file must not be edited meanwhile. A session of an older schema version is
/// brought forward in memory; the file stays as it is.
///
/// Threads: one at a time; open one for each thread.
class Session {
 public:
  /// Throws SessionError with a reason and a sentence for the user.
  static Session open(const std::string& path);
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) noexcept = default;

  const std::string& path() const { return path_; }

  /// Rows of a table; `rest` is the SQL that follows FROM, its parameters follow.
  template <typename Row, typename... Parameters>
  SessionRange<Row> rows(std::string_view rest = {}, const Parameters&... parameters) {
    try {
      Statement statement(*database_, select_sql<Row>(rest));
      int number = 0;
      (statement.bind(++number, parameters), ...);
      return SessionRange<Row>(path_, std::move(statement));
    } catch (const SqliteError& error) {
      throw session_error(path_, error);
    }
  }

  /// The first of them, if any.
  template <typename Row, typename... Parameters>
  std::optional<Row> first(std::string_view rest = {}, const Parameters&... parameters) {
    for (const Row& row : rows<Row>(rest, parameters...)) return row;
    return std::nullopt;
  }

  template <typename Row>
  std::int64_t count(const std::string& where = "1") {
    return integer("SELECT count(*) FROM \"" + std::string(Row::kTable) + "\" WHERE " + where);
  }

  /// First column of the first row of any select, 0 if there is none.
  std::int64_t integer(const std::string& sql);
  /// The string of that id in table `string`; empty for ids that are not there.
  const std::string& string(std::int64_t id);
  std::string string(const std::optional<std::int64_t>& id) { return id ? string(*id) : std::string(); }
  std::optional<std::string> meta(const std::string& key);
  /// The label of a value of an enumeration, such as ("copy_kind", 1): "host_to_device".
  std::string label(const std::string& enumeration, std::int64_t value);

  /// For SQL that no row struct describes. Throws SqliteError when used.
  Database& database() { return *database_; }

 private:
  explicit Session(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unordered_map<std::int64_t, std::string> strings_;
};

}  // namespace tferry::trace
