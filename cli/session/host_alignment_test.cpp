#include "cli/session/host_alignment.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"
#include "trace/session.hpp"
#include "trace/session_writer.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

HostFacts facts(const char* host, std::optional<std::int64_t> error) {
  HostFacts facts;
  facts.host = host;
  facts.boot_id = std::string("boot of ") + host;
  facts.clock_error_ns = error;
  return facts;
}

HostSpools host(const char* name, std::optional<std::int64_t> error) {
  return {.spools = {}, .facts = facts(name, error)};
}

TEST(GroupByHost, SpoolsOfOneBootBelongTogetherWhereverTheyLie) {
  const testing_support::TemporaryDirectory directory;
  const auto folder = [&](const char* name, const HostFacts* known) {
    std::filesystem::create_directory(directory.path() / name);
    if (known != nullptr) std::ofstream(directory.path() / name / "host.json") << to_json(*known);
    return (directory.path() / name / "spool.1.runtime.0").string();
  };
  const HostFacts a = facts("a", 1000), b = facts("b", 2000);
  const auto hosts = group_by_host({folder("x", &b), folder("y", &a), folder("z", &b), folder("u", nullptr)});
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_FALSE(hosts[0].facts.has_value() && hosts[1].facts.has_value() && hosts[2].facts.has_value());
  std::size_t of_b = 0;
  for (const HostSpools& each : hosts) {
    if (each.facts && each.facts->host == "b") of_b = each.spools.size();
  }
  EXPECT_EQ(of_b, 2u);
}

// pytorch#128292, vllm#51881: ranks that are not aligned in time. The error is stated, or the merge refused.
TEST(AlignmentError, Pytorch128292IsThatOfTheTwoWorstClocks) {
  EXPECT_EQ(alignment_error({host("a", 5'000'000)}), 0);
  EXPECT_EQ(alignment_error({host("a", 100), host("b", 3000), host("c", 200)}), 3200);
}

TEST(AlignmentError, Vllm51881WhatCannotBeAlignedIsRefusedByName) {
  try {
    alignment_error({host("a", 100), host("b", std::nullopt)});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("b cannot be aligned"), std::string::npos);
  }
  EXPECT_THROW(alignment_error({host("a", 90'000'000), host("b", 90'000'000)}), Failure);
  EXPECT_THROW(alignment_error({host("a", 100), HostSpools{}}), Failure);
}

TEST(ShiftTimes, MovesWhatTheLaterHostRecordedAndNothingElse) {
  const testing_support::TemporaryDirectory directory;
  const std::string path = (directory.path() / "a.tferry").string();
  trace::SessionWriter writer = trace::SessionWriter::create(path);
  for (const std::int64_t process : {1, 2}) {
    writer.insert(trace::ProcessRow{.id = process, .pid = 4711, .start_ns = 1000});
    writer.insert(trace::DeviceRow{.id = process, .uuid = "GPU"});
    trace::KernelRow kernel{.process_id = process};
    kernel.start_ns = 2000;
    kernel.call_ns = 1500;
    writer.insert(kernel);
    writer.insert(trace::CounterRow{process, writer.intern("pcie"), 3000, 3100, 1});
    writer.insert(trace::AllocationRow{.process_id = process, .alloc_ns = 500});
  }
  shift_times(writer, 1, 1, -700);
  writer.publish();
  trace::Session session = trace::Session::open(path);
  EXPECT_EQ(session.integer("SELECT start_ns FROM process WHERE id = 1"), 1000);
  EXPECT_EQ(session.integer("SELECT start_ns FROM process WHERE id = 2"), 300);
  EXPECT_EQ(session.integer("SELECT start_ns FROM kernel WHERE process_id = 1"), 2000);
  EXPECT_EQ(session.integer("SELECT start_ns - call_ns FROM kernel WHERE process_id = 2"), 500);
  EXPECT_EQ(session.integer("SELECT count(*) FROM kernel WHERE end_ns IS NOT NULL"), 0);
  EXPECT_EQ(session.integer("SELECT start_ns FROM counter WHERE device_id = 2"), 2300);
  EXPECT_EQ(session.integer("SELECT sum(alloc_ns) FROM allocation"), 300);
}

/// Every column of a recorded table that holds a moment is moved; durations are not.
TEST(ShiftTimes, KnowsEveryTimeOfTheSchema) {
  const testing_support::TemporaryDirectory directory;
  trace::SessionWriter writer = trace::SessionWriter::create((directory.path() / "a.tferry").string());
  const std::vector<std::string> recorded = {
      "process",  "kernel",         "memcpy",   "memset",  "graph_launch",  "allocation",
      "swap",     "gate",           "um_event", "sync",    "marker",        "overhead",
      "api_call", "recorded_range", "loss",     "counter", "pool_operation"};
  for (const std::string& table : recorded) {
    std::vector<std::string> times;
    std::string names, values;
    trace::Statement columns(writer.database(),
                             "SELECT name, type, \"notnull\" FROM pragma_table_info('" + table + "')");
    while (columns.step()) {
      const std::string name = columns.shown(0);
      if (name == "id") continue;
      const bool time = name.ends_with("_ns") && name != "wait_ns" && name != "clock_error_ns" &&
                        name != "start_realtime_ns";
      if (time) times.push_back(name);
      if (!time && columns.integer(2) == 0 && name != "device_id") continue;
      names += (names.empty() ? "" : ", ") + ("\"" + name + "\"");
      values += (values.empty() ? "" : ", ") + std::string(columns.shown(1) == "TEXT" ? "'x'" : "5");
    }
    writer.execute("INSERT INTO \"" + table + "\"(" + names + ") VALUES(" + values + ")");
    if (table == "loss") writer.execute("UPDATE loss SET process_id = 5");
    shift_times(writer, 0, 0, 100);
    for (const std::string& time : times) {
      EXPECT_EQ(writer.database().integer("SELECT " + time + " FROM \"" + table + "\""), 105)
          << table << "." << time;
    }
    writer.execute("DELETE FROM \"" + table + "\"");
  }
}

}  // namespace
}  // namespace tferry::cli
