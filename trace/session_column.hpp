#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace tferry::trace {

/// One column of a session table: its name and the member of the row struct that holds it. Every row struct
/// has
///   static constexpr const char* kTable;       // the table's name
///   template <typename Row = ThisRow>
///   static constexpr auto columns();           // std::tuple of Column, in the table's order
/// (a template, so that only those who use a table pay for compiling it), from which the schema, the inserts
/// and the selects are made, so that they cannot disagree. A member `id` is the primary key; 0 when inserting
/// lets SQLite choose.
template <typename Row, typename Value>
struct Column {
  const char* name;
  Value Row::* member;
};

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// SQL type of a member: integers and enumerations INTEGER, double REAL, strings TEXT; optional ones may be
/// NULL, which always means "unknown" or "does not apply".
template <typename Value>
constexpr std::string_view sql_type() {
  if constexpr (IsOptional<Value>::value) {
    constexpr std::string_view with_constraint = sql_type<typename Value::value_type>();
    return with_constraint.substr(0, with_constraint.find(' '));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return "REAL NOT NULL";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return "TEXT NOT NULL";
  } else {
    static_assert(std::is_integral_v<Value> || std::is_enum_v<Value>);
    return "INTEGER NOT NULL";
  }
}

/// Calls `visit(name, member pointer)` for each column.
template <typename Row, typename Visit>
constexpr void for_each_column(Visit&& visit) {
  std::apply([&](const auto&... column) { (visit(column.name, column.member), ...); }, Row::columns());
}

template <typename Row>
std::string create_table_sql() {
  std::string sql = "CREATE TABLE \"" + std::string(Row::kTable) + "\"(";
  bool first = true;
  for_each_column<Row>([&]<typename Value>(const char* name, Value Row::*) {
    if (!first) sql += ", ";
    first = false;
    sql += name;
    sql += std::string_view(name) == "id" ? " INTEGER PRIMARY KEY" : " " + std::string(sql_type<Value>());
  });
  return sql + ")";
}

template <typename Row>
std::string column_list() {
  std::string list;
  for_each_column<Row>([&](const char* name, auto) { (list += list.empty() ? "" : ", ") += name; });
  return list;
}

template <typename Row>
std::string insert_sql() {
  std::string parameters;
  for_each_column<Row>([&](const char*, auto) { parameters += parameters.empty() ? "?" : ",?"; });
  return "INSERT INTO \"" + std::string(Row::kTable) + "\"(" + column_list<Row>() + ") VALUES (" +
         parameters + ")";
}

/// `rest` is what follows FROM: WHERE, ORDER BY, LIMIT.
template <typename Row>
std::string select_sql(std::string_view rest) {
  return "SELECT " + column_list<Row>() + " FROM \"" + std::string(Row::kTable) + "\" " + std::string(rest);
}

}  // namespace tferry::trace
