#include "trace/session_schema.hpp"

#include "trace/session_rows.hpp"

#include <gtest/gtest.h>

namespace tferry::trace {
namespace {

TEST(SessionSchemaTest, MarksTheDatabaseAsASession) {
  Database database;
  create_schema(database);
  EXPECT_EQ(database.integer("PRAGMA application_id"), kSessionApplicationId);
  EXPECT_EQ(check_session_version(database, "x"), kSessionVersion);
}

TEST(SessionSchemaTest, MakesColumnsFromTheRowStructs) {
  EXPECT_EQ(create_table_sql<StreamRow>(),
            "CREATE TABLE \"stream\"(id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, device_id INTEGER, "
            "context_id INTEGER, cupti_stream_id INTEGER, handle INTEGER, priority INTEGER, owner INTEGER "
            "NOT NULL)");
}

TEST(SessionSchemaTest, IndexesFitTheTables) {
  Database database;
  create_schema(database);
  create_indexes(database);
  EXPECT_GT(database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'index'"), 0);
}

TEST(SessionSchemaTest, NamesEveryValueOfAnEnumeration) {
  Database database;
  create_schema(database);
  EXPECT_EQ(database.text("SELECT label FROM enumeration WHERE name = 'copy_kind' AND value = 2"),
            "device_to_host");
  EXPECT_EQ(database.integer("SELECT max(value) FROM enumeration WHERE name = 'transfer_kind'"),
            static_cast<int>(TransferKind::kInPlace));
  EXPECT_EQ(database.integer("SELECT max(value) FROM enumeration WHERE name = 'allocation_api'"),
            static_cast<int>(AllocationApi::kArray));
}

constexpr Migration kSteps[] = {{1, "CREATE TABLE added(x); INSERT INTO added VALUES (7)"},
                                {2, "ALTER TABLE added ADD COLUMN y DEFAULT 8"}};

/// As a program of version 1 left it.
void make_version_1(Database& database) {
  create_schema(database);
  database.execute("PRAGMA user_version = 1");
}

TEST(SessionSchemaTest, MigratesStepByStep) {
  Database database;
  make_version_1(database);
  migrate(database, 3, kSteps);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(database.integer("SELECT x + y FROM added"), 15);
}

TEST(SessionSchemaTest, AFailedMigrationChangesNothing) {
  Database database;
  make_version_1(database);
  EXPECT_THROW(migrate(database, 4, kSteps), SqliteError);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'added'"), 0);
}

TEST(SessionSchemaTest, AnOldSessionGetsTheColumnsOfANewOne) {
  const auto columns = [](Database& database) {
    std::vector<std::string> all;
    Statement statement(
        database,
        "SELECT t.name || '.' || c.name || ' ' || c.type || c.\"notnull\" FROM sqlite_schema AS t "
        "JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY t.name, c.cid");
    while (statement.step()) all.push_back(statement.shown(0));
    return all;
  };
  Database old, fresh;
  create_schema(fresh);
  make_version_1(old);
  for (const char* added : {"plan.chunk_bytes",
                            "plan.movable_bytes",
                            "plan.chunk_count",
                            "plan.slack",
                            "plan.forced_bytes",
                            "plan.link_h2d_bytes_per_second",
                            "plan.link_d2h_bytes_per_second",
                            "plan.duplex_h2d_bytes_per_second",
                            "plan.duplex_d2h_bytes_per_second",
                            "plan_action.tensor",
                            "run.iterations_followed",
                            "run.departures",
                            "run.mappings",
                            "run.forced_bytes",
                            "link.pcie_generation",
                            "link.pcie_width",
                            "link.pcie_generation_most",
                            "link.pcie_width_most",
                            "link.numa_node",
                            "iteration.micro_batches",
                            "iteration.synchronisations",
                            "allocation.numa_node",
                            "bound.route",
                            "plan.route",
                            "plan.link_known_by",
                            "plan.link_reached",
                            "plan.link_copy_ns",
                            "run.route"}) {
    const std::string name = added;
    const std::size_t dot = name.find('.');
    old.execute("ALTER TABLE " + name.substr(0, dot) + " DROP COLUMN " + name.substr(dot + 1));
  }
  for (const char* added :
       {"api_call", "recorded_range", "allocation_name", "slot_use", "slot", "pool_operation"})
    old.execute(std::string("DROP TABLE ") + added);
  EXPECT_NE(columns(old), columns(fresh));
  migrate(old, kSessionVersion, session_migrations());
  EXPECT_EQ(columns(old), columns(fresh));
}

TEST(SessionSchemaTest, AnOldSessionGetsTheLabelsOfANewOne) {
  Database old;
  make_version_1(old);
  old.execute("DELETE FROM enumeration WHERE name = 'um_event_kind' AND value > 6");
  old.execute(
      "PRAGMA user_version = 2; DROP TABLE api_call; DROP TABLE recorded_range; DROP TABLE allocation_name; "
      "DROP TABLE slot_use; DROP TABLE slot; DROP TABLE pool_operation");
  old.execute("DELETE FROM enumeration WHERE name = 'pool_operation_kind'");
  old.execute("DELETE FROM enumeration WHERE name = 'allocation_api' AND value > 7");
  for (const char* column :
       {"pcie_generation", "pcie_width", "pcie_generation_most", "pcie_width_most", "numa_node"}) {
    old.execute(std::string("ALTER TABLE link DROP COLUMN ") + column);
  }
  for (const char* column : {"micro_batches", "synchronisations"})
    old.execute(std::string("ALTER TABLE iteration DROP COLUMN ") + column);
  old.execute("ALTER TABLE allocation DROP COLUMN numa_node");
  for (const char* column :
       {"bound DROP COLUMN route", "plan DROP COLUMN route", "plan DROP COLUMN link_known_by",
        "plan DROP COLUMN link_reached", "plan DROP COLUMN link_copy_ns", "run DROP COLUMN route"}) {
    old.execute(std::string("ALTER TABLE ") + column);
  }
  migrate(old, kSessionVersion, session_migrations());
  EXPECT_EQ(old.text("SELECT label FROM enumeration WHERE name = 'um_event_kind' AND value = 8"),
            "remote_map");
  EXPECT_EQ(old.text("SELECT label FROM enumeration WHERE name = 'allocation_api' AND value = 9"), "array");
  EXPECT_EQ(old.text("SELECT label FROM enumeration WHERE name = 'pool_operation_kind' AND value = 5"),
            "set_current");
}

}  // namespace
}  // namespace tferry::trace
