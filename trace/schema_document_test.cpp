// docs/schema.md is an interface: it must list exactly the tables and columns that a session has, and its
// queries must run.
#include "trace/session_rows.hpp"
#include "trace/session_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace tferry::trace {
namespace {

struct Document {
  std::map<std::string, std::vector<std::string>> columns;  ///< "name type" by table
  std::vector<std::string> queries;

  explicit Document(const std::string& path) {
    std::ifstream in(path);
    EXPECT_TRUE(in) << path;
    const std::regex heading("### `(.*)`"), row(R"(\| `(.*?)` \| (\w+[?]?) \|.*)");
    std::string line, table;
    bool in_query = false;
    while (std::getline(in, line)) {
      std::smatch match;
      if (in_query && line == "```") {
        in_query = false;
      } else if (in_query) {
        queries.back() += line + "\n";
      } else if (line == "```sql") {
        in_query = true;
        queries.emplace_back();
      } else if (std::regex_match(line, match, heading)) {
        table = match[1];
        columns[table];
      } else if (std::regex_match(line, match, row)) {
        columns[table].push_back(match[1].str() + " " + match[2].str());
      }
    }
  }
};

TEST(SchemaDocumentTest, ListsExactlyTheColumnsOfTheDatabase) {
  const Document document(TFERRY_SCHEMA_DOCUMENT);
  Database database;
  create_schema(database);
  std::map<std::string, std::vector<std::string>> actual;
  Statement columns(database,
                    "SELECT t.name, c.name, c.type, c.\"notnull\" OR c.pk FROM sqlite_schema AS t "
                    "JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY t.name, c.cid");
  while (columns.step()) {
    actual[columns.shown(0)].push_back(columns.shown(1) + " " + columns.shown(2) +
                                       (columns.integer(3) == 0 ? "?" : ""));
  }
  EXPECT_EQ(document.columns, actual);
  EXPECT_EQ(actual.size(), std::tuple_size_v<SessionRows>);
}

TEST(SchemaDocumentTest, ItsQueriesRun) {
  const Document document(TFERRY_SCHEMA_DOCUMENT);
  Database database;
  create_schema(database);
  EXPECT_GE(document.queries.size(), 5u);
  for (const std::string& query : document.queries) EXPECT_NO_THROW(database.execute(query)) << query;
}

}  // namespace
}  // namespace tferry::trace
