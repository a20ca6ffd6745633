#include "trace/session_schema.hpp"

#include "trace/record_enums.hpp"
#include "trace/session_error.hpp"
#include "trace/session_rows.hpp"

namespace tferry::trace {
namespace {

struct EnumerationNames {
  const char* name;
  std::initializer_list<const char*> labels;  // from 0
};

const EnumerationNames kEnumerations[] = {
    {"memory_kind", {"unknown", "pageable", "pinned", "device", "managed", "array"}},
    {"copy_kind",
     {"unknown", "host_to_device", "device_to_host", "device_to_device", "host_to_host", "peer"}},
    {"access_kind", {"unknown", "may_touch", "read", "write", "read_write"}},
    {"known_by", {"unknown", "argument", "call", "table", "direction", "graph", "pages"}},
    {"allocation_api",
     {"unknown", "alloc", "alloc_async", "pool", "managed", "virtual", "host", "pitch", "host_register",
      "array"}},
    {"pool_operation_kind",
     {"unknown", "create", "destroy", "trim", "set_attribute", "set_current", "set_access"}},
    {"sync_kind", {"unknown", "event", "stream_wait_event", "stream", "context"}},
    {"stream_owner", {"unknown", "program", "runtime"}},
    {"marker_kind", {"unknown", "range", "instant", "open_range"}},
    {"transfer_kind", {"unknown", "park", "fetch", "clean_drop", "discard", "in_place"}},
    {"um_event_kind",
     {"unknown", "gpu_fault", "cpu_fault", "migration_to_device", "migration_to_host", "migration_peer",
      "thrashing", "throttling", "remote_map"}},
};

constexpr const char* kIndexes[] = {
    "CREATE INDEX kernel_start ON kernel(start_ns)",
    "CREATE INDEX kernel_name ON kernel(name_id, start_ns)",
    "CREATE INDEX kernel_operation ON kernel(process_id, operation)",
    "CREATE INDEX memcpy_start ON memcpy(start_ns)",
    "CREATE INDEX memcpy_operation ON memcpy(process_id, operation)",
    "CREATE INDEX memset_start ON memset(start_ns)",
    "CREATE INDEX marker_start ON marker(start_ns)",
    "CREATE INDEX sync_start ON sync(start_ns)",
    "CREATE INDEX allocation_number ON allocation(process_id, allocation)",
    "CREATE INDEX access_operation ON access(process_id, operation)",
    "CREATE INDEX access_allocation ON access(allocation_id)",
    "CREATE INDEX counter_start ON counter(name_id, device_id, start_ns)",
    "CREATE INDEX operation_number ON operation(process_id, operation)",
    "CREATE INDEX tensor_allocation_tensor ON tensor_allocation(tensor_id)",
    "CREATE INDEX tensor_allocation_allocation ON tensor_allocation(allocation_id)",
    "CREATE INDEX transfer_start ON transfer(start_ns)",
    "CREATE INDEX plan_action_plan ON plan_action(plan_id)",
};

}  // namespace

std::span<const Migration> session_migrations() {
  static constexpr Migration kMigrations[] = {
      {1,  // what the placement of a plan depends on, and what became of it
       "ALTER TABLE plan ADD COLUMN chunk_bytes INTEGER;"
       "ALTER TABLE plan ADD COLUMN movable_bytes INTEGER;"
       "ALTER TABLE plan ADD COLUMN chunk_count INTEGER;"
       "ALTER TABLE plan ADD COLUMN slack REAL;"
       "ALTER TABLE plan ADD COLUMN forced_bytes INTEGER;"
       "ALTER TABLE plan ADD COLUMN link_h2d_bytes_per_second REAL;"
       "ALTER TABLE plan ADD COLUMN link_d2h_bytes_per_second REAL;"
       "ALTER TABLE plan ADD COLUMN duplex_h2d_bytes_per_second REAL;"
       "ALTER TABLE plan ADD COLUMN duplex_d2h_bytes_per_second REAL;"
       "ALTER TABLE plan_action ADD COLUMN tensor TEXT;"
       "ALTER TABLE run ADD COLUMN iterations_followed INTEGER;"
       "ALTER TABLE run ADD COLUMN departures INTEGER;"
       "ALTER TABLE run ADD COLUMN mappings INTEGER;"
       "ALTER TABLE run ADD COLUMN forced_bytes INTEGER"},
      {2,  // how fast links run, API calls, recorded ranges
       "ALTER TABLE link ADD COLUMN pcie_generation INTEGER;"
       "ALTER TABLE link ADD COLUMN pcie_width INTEGER;"
       "ALTER TABLE link ADD COLUMN pcie_generation_most INTEGER;"
       "ALTER TABLE link ADD COLUMN pcie_width_most INTEGER;"
       "ALTER TABLE link ADD COLUMN numa_node INTEGER;"
       "CREATE TABLE api_call(process_id INTEGER NOT NULL, thread INTEGER, name_id INTEGER NOT NULL, "
       "start_ns INTEGER NOT NULL, end_ns INTEGER, correlation_id INTEGER, result INTEGER);"
       "CREATE TABLE recorded_range(process_id INTEGER NOT NULL, number INTEGER NOT NULL, what TEXT NOT "
       "NULL, "
       "start_ns INTEGER NOT NULL, end_ns INTEGER);"
       "CREATE TABLE allocation_name(allocation_id INTEGER NOT NULL, name TEXT NOT NULL, category TEXT, "
       "source "
       "TEXT NOT NULL);"
       "INSERT INTO enumeration(name, value, label) VALUES('um_event_kind', 7, 'throttling'), "
       "('um_event_kind', 8, 'remote_map')"},
      {3,  // turns of ranks on a shared link
       "CREATE TABLE slot_use(pid INTEGER NOT NULL, device_ordinal INTEGER NOT NULL, rank INTEGER, "
       "gpus_on_link "
       "INTEGER, asked INTEGER, granted INTEGER, used INTEGER, ahead INTEGER, expired INTEGER, wait_ns "
       "INTEGER)"},
      {4,  // each turn; memory that stays the driver's; what iterations consist of
       "ALTER TABLE iteration ADD COLUMN micro_batches INTEGER;"
       "ALTER TABLE iteration ADD COLUMN synchronisations INTEGER;"
       "ALTER TABLE allocation ADD COLUMN numa_node INTEGER;"
       "CREATE TABLE slot(pid INTEGER NOT NULL, device_ordinal INTEGER NOT NULL, rank INTEGER, link INTEGER "
       "NOT "
       "NULL, direction INTEGER NOT NULL, use TEXT NOT NULL, bytes INTEGER NOT NULL, iteration INTEGER NOT "
       "NULL, "
       "asked_ns INTEGER NOT NULL, granted_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL);"
       "INSERT INTO enumeration(name, value, label) VALUES('allocation_api', 8, 'host_register'), "
       "('allocation_api', 9, 'array')"},
      {5,  // what programs do to pools, and by which way contents go
       "CREATE TABLE pool_operation(process_id INTEGER NOT NULL, device_id INTEGER, thread INTEGER, kind "
       "INTEGER NOT NULL, "
       "pool INTEGER NOT NULL, attribute INTEGER, value INTEGER, start_ns INTEGER NOT NULL, end_ns INTEGER);"
       "INSERT INTO enumeration(name, value, label) VALUES('pool_operation_kind', 0, 'unknown'), "
       "('pool_operation_kind', 1, 'create'), ('pool_operation_kind', 2, 'destroy'), "
       "('pool_operation_kind', 3, 'trim'), ('pool_operation_kind', 4, 'set_attribute'), "
       "('pool_operation_kind', 5, 'set_current'), ('pool_operation_kind', 6, 'set_access'), "
       "('known_by', 6, 'pages');"
       "ALTER TABLE bound ADD COLUMN route TEXT;"
       "ALTER TABLE plan ADD COLUMN route TEXT;"
       "ALTER TABLE plan ADD COLUMN link_known_by TEXT;"
       "ALTER TABLE plan ADD COLUMN link_reached REAL;"
       "ALTER TABLE plan ADD COLUMN link_copy_ns REAL;"
       "ALTER TABLE run ADD COLUMN route TEXT"}};
  return kMigrations;
}

void create_schema(Database& database) {
  for_each_table([&]<typename Row>() { database.execute(create_table_sql<Row>()); });
  Statement insert(database, insert_sql<EnumerationRow>());
  for (const EnumerationNames& enumeration : kEnumerations) {
    std::int64_t value = 0;
    for (const char* label : enumeration.labels) {
      insert.bind(1, enumeration.name);
      insert.bind(2, value++);
      insert.bind(3, label);
      insert.run();
    }
  }
  database.execute("PRAGMA application_id=" + std::to_string(kSessionApplicationId));
  database.execute("PRAGMA user_version=" + std::to_string(kSessionVersion));
}

void create_indexes(Database& database) {
  for (const char* sql : kIndexes) database.execute(sql);
}

int check_session_version(Database& database, const std::string& path) {
  using Reason = SessionError::Reason;
  if (database.integer("PRAGMA application_id") != kSessionApplicationId) {
    if (database.integer("SELECT count(*) FROM sqlite_schema") == 0) {
      throw SessionError(Reason::kEmpty,
                         "session " + path + " has no tables: its recording was not finished");
    }
    const bool nsight =
        database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'") > 0;
    throw SessionError(Reason::kForeign, path + " is not a Tensorferry session but " +
                                             (nsight ? "an Nsight Systems export: `tferry import` reads those"
                                                     : "a database of another program"));
  }
  const auto version = static_cast<int>(database.integer("PRAGMA user_version"));
  if (version > kSessionVersion) {
    throw SessionError(Reason::kNewer, "session " + path + " has schema version " + std::to_string(version) +
                                           ", this tferry knows up to " + std::to_string(kSessionVersion) +
                                           ": use the tferry that wrote it, or a newer one");
  }
  if (version < 1)
    throw SessionError(Reason::kDamaged, "session " + path + " is damaged: it has no schema version");
  return version;
}

void migrate(Database& database, int to, std::span<const Migration> migrations) {
  database.execute("BEGIN IMMEDIATE");
  try {
    for (auto version = static_cast<int>(database.integer("PRAGMA user_version")); version < to; ++version) {
      const Migration* step = nullptr;
      for (const Migration& migration : migrations) {
        if (migration.from == version) step = &migration;
      }
      if (!step)
        throw SqliteError(
            1, "no way from schema version " + std::to_string(version) + " to " + std::to_string(to));
      database.execute(step->sql);
      database.execute("PRAGMA user_version=" + std::to_string(version + 1));
    }
    database.execute("COMMIT");
  } catch (...) {
    try {
      database.execute("ROLLBACK");
    } catch (const SqliteError&) {
      // The first error is the one to tell.
    }
    throw;
  }
}

}  // namespace tferry::trace
