#include "cli/report/run_summary.hpp"

#include "cli/testing/status_builder.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tferry::cli {
namespace {

using testing_support::OperationLogBuilder;
using testing_support::StatusBuilder;
using testing_support::TemporaryDirectory;

class RunSummaryTest : public testing::Test {
 protected:
  RunSummary summarise() const {
    return summarise_run(directory_.path(), "train", "auto", {false, 0, 1'500'000'000}, {});
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  void write_job() {
    StatusBuilder builder;
    builder.set_stage(trace::JobStage::kManaging);
    builder.set_command("python3");
    trace::DeviceStatus& device = builder.device(0);
    device.budget = 10'522'669'875;
    device.budget_source = static_cast<std::int64_t>(trace::BudgetSource::kBytes);
    device.allocated_peak = 15LL << 30;
    device.resident_peak = 9LL << 30;
    device.parked_peak = 6LL << 30;
    device.bytes_out = 20 << 20;
    device.bytes_in = 10 << 20;
    device.gated_operations = 30;
    device.host_waits = 10;
    device.host_wait_ns = 20'000'000;
    device.operations = 500;
    device.resident_count[static_cast<int>(trace::ResidentReason::kPointedTo)] = 4;
    device.resident_bytes[static_cast<int>(trace::ResidentReason::kPointedTo)] = 64 << 20;
    builder.write(directory_.path() / "status.42");
    OperationLogBuilder log(1000);
    for (int iteration = 0; iteration < 10; ++iteration) {
      for (std::uint32_t i = 0; i < 50; ++i) {
        log.add(
            {(iteration * 50 + i) * 1'000'000LL, 1000 + i, 0, 0, i == 3 ? 1024u : 0u, i == 5 ? 2048u : 0u});
      }
    }
    log.write(directory_.path() / "operations.42");
  }

  TemporaryDirectory directory_;
};

TEST_F(RunSummaryTest, TextTellsWhatTheUserWantsToKnow) {
  write_job();
  const std::string text = to_text(summarise());
  EXPECT_TRUE(contains(text, "train ended with exit code 0 after 1.50 s")) << text;
  EXPECT_TRUE(contains(text, "python3 (process 42), device 0")) << text;
  EXPECT_TRUE(contains(text, "9.80 GiB (10522669875 bytes), from --budget")) << text;
  EXPECT_TRUE(contains(text, "15.0 GiB at its peak; on the card at most 9.00 GiB, parked at most 6.00 GiB"))
      << text;
  EXPECT_TRUE(contains(text, "2.00 MiB parked and 1.00 MiB fetched per iteration; 20.0 MiB parked")) << text;
  EXPECT_TRUE(contains(text, "the calling thread waited 10 times, 20.0 ms (2.00 ms per iteration")) << text;
  EXPECT_TRUE(contains(text, "50.0 ms per iteration")) << text;
  EXPECT_TRUE(contains(text, "64.0 MiB in 4 (pointed to from device memory)")) << text;
  EXPECT_FALSE(contains(text, "audit")) << text;
}

TEST_F(RunSummaryTest, UnknownIsNeverZero) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kManaging);
  builder.device(0).budget = 1;
  builder.device(0).allocated_peak = -1;
  builder.write(directory_.path() / "status.42");
  const RunSummary summary = summarise();
  EXPECT_TRUE(contains(to_text(summary), "footprint  unknown at its peak"));
  EXPECT_TRUE(contains(to_text(summary), "per iteration unknown: operation log: No such file"));
  const auto json = nlohmann::json::parse(to_json(summary));
  EXPECT_TRUE(json["processes"][0]["devices"][0]["allocated_peak"].is_null());
  EXPECT_TRUE(json["processes"][0]["devices"][0]["iterations"].is_null());
}

TEST_F(RunSummaryTest, WhatTheLogDoesNotAccountForIsAnAverage) {
  write_job();
  RunSummary summary = summarise();
  summary.processes[0].devices[0].iterations->parked_bytes.reset();
  EXPECT_TRUE(contains(to_text(summary), "about 2.00 MiB parked and 1.00 MiB fetched per iteration"));
}

TEST_F(RunSummaryTest, JsonHoldsTheSameFigures) {
  write_job();
  const auto json = nlohmann::json::parse(to_json(summarise()));
  EXPECT_EQ(json["format"], "tferry-run");
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_TRUE(json["signal"].is_null());
  const auto& device = json["processes"][0]["devices"][0];
  EXPECT_EQ(device["budget"], 10'522'669'875);
  EXPECT_EQ(device["budget_source"], "bytes");
  EXPECT_EQ(device["iterations"]["parked_bytes"], 2 << 20);
  EXPECT_EQ(device["iterations"]["time_ns"], 50'000'000);
  EXPECT_EQ(device["resident_reasons"][2]["count"], 4);
}

TEST_F(RunSummaryTest, NothingReportedIsSaid) {
  EXPECT_TRUE(contains(to_text(summarise()), "note: the runtime library reported from no process"));
}

TEST_F(RunSummaryTest, NoDriverIsSaid) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kLoaded);
  builder.write(directory_.path() / "status.42");
  EXPECT_TRUE(contains(to_text(summarise()), "note: no GPU was used"));
}

TEST_F(RunSummaryTest, ADriverWithoutHooksIsSaid) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kLoaded);
  builder.status().driver_loaded = 1;
  builder.write(directory_.path() / "status.42");
  EXPECT_TRUE(contains(to_text(summarise()), "none of its functions was called through us"));
}

TEST_F(RunSummaryTest, ARuntimeThatSteppedAsideIsSaidWithItsReason) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kOff);
  builder.set_message("address range cannot be reserved");
  builder.write(directory_.path() / "status.42");
  EXPECT_TRUE(
      contains(to_text(summarise()), "stepped aside in process 42 (?): address range cannot be reserved"));
}

TEST_F(RunSummaryTest, APredictionIsComparedByThePlansWayOnly) {
  using trace::RouteTaken;
  const auto text = [this](RouteTaken taken, RouteTaken planned) {
    StatusBuilder builder;
    builder.set_stage(trace::JobStage::kManaging);
    trace::DeviceStatus& device = builder.device(0);
    device.budget = 1;
    device.plan_state = static_cast<std::int64_t>(trace::PlanState::kFollowing);
    device.plan_adoptions = device.plan_iterations_timed = 1;
    device.plan_measured_ns = 12'000'000;
    device.plan_predicted_ns = 11'000'000;
    device.plan_bound_ns = 10'000'000;
    device.route = static_cast<std::int64_t>(taken);
    device.plan_route = static_cast<std::int64_t>(planned);
    builder.write(directory_.path() / "status.42");
    return to_text(summarise());
  };
  const std::string compared = "measured 12.0 ms, predicted 11.0 ms, bound 10.0 ms";
  for (const RouteTaken way : {RouteTaken::kUnknown, RouteTaken::kDirect, RouteTaken::kBoth})
    EXPECT_TRUE(contains(text(way, way), compared));
  const std::string left = text(RouteTaken::kLeft, RouteTaken::kBoth);
  EXPECT_FALSE(contains(left, "predicted 11.0")) << left;
  EXPECT_TRUE(contains(left,
                       "they are for contents that go by its own and a neighbour's link, and these went by a "
                       "neighbour's link until that was given up, then by its own"))
      << left;
  EXPECT_TRUE(contains(left, "route      contents went by a neighbour's link until"));
  EXPECT_FALSE(contains(text(RouteTaken::kDirect, RouteTaken::kNeighbour), "route      contents"))
      << "the usual way";
  const auto json = nlohmann::json::parse(to_json(summarise()));
  EXPECT_EQ(json["processes"][0]["devices"][0]["route"], "direct");
  EXPECT_EQ(json["processes"][0]["devices"][0]["plan_route"], "neighbour");
}

TEST_F(RunSummaryTest, AuditAndOutOfMemoryAreSaid) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kManaging);
  builder.device(0).budget = 1;
  builder.device(0).audit_checks = 7;
  builder.device(0).audit_failures = 1;
  builder.device(0).out_of_memory = 3;
  builder.write(directory_.path() / "status.42");
  const std::string text = to_text(summarise());
  EXPECT_TRUE(contains(text, "1 of 7 contents that were compared had changed unseen")) << text;
  EXPECT_TRUE(contains(text, "3 allocations on device 0")) << text;
}

TEST_F(RunSummaryTest, DamagedFilesAreNamed) {
  StatusBuilder::write_bytes(directory_.path() / "status.42", {'x'});
  EXPECT_TRUE(contains(to_text(summarise()), "unreadable: status.42: cut off after 1 bytes"));
}

}  // namespace
}  // namespace tferry::cli
