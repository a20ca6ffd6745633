#pragma once

#include "trace/session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

/// What part of a session a report is about, as the command line says it.
struct ScopeOptions {
  std::optional<std::int64_t> gpu = {};   ///< the session's GPUs are numbered from 0
  std::optional<std::int64_t> rank = {};  ///< of a process; without ranks, processes are numbered from 0
  std::string from = {},
              to = {};    ///< since the session's start: "1.5s", "200ms", "10us", "7ns"; empty: all of it
  std::int64_t top = 20;  ///< rows of long tables, 0: all
};

/// A session seen through these options. Threads: the session's.
class Scope {
 public:
  /// Throws Failure for a GPU, rank or time that is not in the session.
  Scope(trace::Session& session, const ScopeOptions& options);

  trace::Session& session() const { return session_; }
  std::int64_t top() const { return top_; }
  std::int64_t start_ns() const { return start_ns_; }
  std::optional<std::int64_t> from_ns() const { return from_ns_; }
  std::optional<std::int64_t> to_ns() const { return to_ns_; }

  /// An SQL condition on rows with these columns; a row counts if it begins in the time range. Empty names:
  /// the table has no such column.
  std::string condition(std::string_view process, std::string_view device, std::string_view time) const;
  bool includes(std::int64_t process, std::int64_t device) const {
    return (!process_ || *process_ == process) && (!device_ || *device_ == device);
  }
  /// GPU number of a device row, "?" for none.
  std::string gpu_name(const std::optional<std::int64_t>& device_id) const;
  const std::vector<std::int64_t>& devices() const { return devices_; }

  /// Calls `visit(statement)` for each row. Throws trace::SessionError.
  template <typename Visit>
  void select(const std::string& sql, Visit&& visit) const {
    try {
      trace::Statement statement(session_.database(), sql);
      while (statement.step()) visit(statement);
    } catch (const trace::SqliteError& error) {
      throw trace::session_error(session_.path(), error);
    }
  }
  /// The first column of the first row; empty for none and for NULL.
  template <typename Value>
  std::optional<Value> value(const std::string& sql) const {
    std::optional<Value> result;
    bool first = true;
    select(sql, [&](trace::Statement& row) {
      if (first) row.get(0, result);
      first = false;
    });
    return result;
  }

 private:
  trace::Session& session_;
  std::vector<std::int64_t> devices_;  ///< of the session, by number
  std::optional<std::int64_t> device_, process_, from_ns_, to_ns_;
  std::int64_t start_ns_ = 0;
  std::int64_t top_;
};

/// Nanoseconds of "1.5s", "200ms", "10us", "7ns". Throws Failure, naming `option`.
std::int64_t parse_duration(const std::string& text, std::string_view option);

}  // namespace tferry::cli
