// What a live planner would make of the golden session's job (GPT-2, recorded on an H200) while it runs,
// against the plan that is made from the whole session.
#include "analyzer/live/live_plan.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "tests/replay/recorded_job.hpp"
#include "tests/replay/recorded_times.hpp"
#include "trace/spool_reader.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tferry::replay {
namespace {

using namespace analyzer;

constexpr std::int64_t kBudget = 10'522'669'875;  // 9.8 GiB

/// The plan of the session, with rounds as a live plan has them.
RankAnalysis golden() {
  trace::Session session = trace::Session::open(TFERRY_GOLDEN "/gpt2.tferry");
  AnalysisOptions options;
  options.budget_bytes = kBudget;
  return std::move(analyze_session(session, options).at(0));
}

/// Writes what the hooks would under a budget: every operation waits for the one before, as long again as it
/// runs (memory is short), something is moved for it, and two events make it take two microseconds more.
class SwappingJob {
 public:
  SwappingJob(const RecordedJob& job, const RecordedTimes& times, const std::string& path)
      : job_(job), times_(times) {
    std::string error;
    spool_ = trace::SpoolWriter::open(path, {}, &error);
    EXPECT_TRUE(spool_) << error;
    spool_->append(trace::DeviceRecord{.time_ns = 1, .device = 0});
    for (const RecordedJob::Call& call : job.calls)
      std::visit([this](const auto& record) { write(record); }, call);
    spool_->close();
  }

 private:
  static constexpr std::int64_t kEvents = 2000;  // ns

  void write(const trace::AllocationRecord& record) { spool_->append(record); }
  void write(const trace::FreeRecord& record) { spool_->append(record); }
  void write(trace::KernelLaunchRecord record) {
    record.name = spool_->intern(job_.strings.at(record.name));
    operation(record);
    const std::int64_t ns = times_.median_ns(record.name, record.grid);
    ran(trace::KernelActivityRecord{.name = record.name, .grid = record.grid}, record.operation, ns);
  }
  void write(const trace::MemcpyCallRecord& record) {
    operation(record);
    ran(trace::MemcpyActivityRecord{.bytes = record.bytes}, record.operation, 1000);
  }
  void write(const trace::MemsetCallRecord& record) {
    operation(record);
    ran(trace::MemsetActivityRecord{.bytes = record.bytes}, record.operation, 1000);
  }

  template <class Call>
  void operation(const Call& record) {
    spool_->append(trace::TransferRecord{.time_ns = record.time_ns,
                                         .operation = record.operation,
                                         .bytes = 4096,
                                         .device = 0,
                                         .kind = trace::TransferKind::kPark});
    spool_->append(record);
    const auto& accesses = job_.accesses_of(record.operation);
    if (!accesses.empty()) spool_->append_accesses(record.time_ns, record.operation, accesses);
  }

  template <class Activity>
  void ran(Activity record, std::uint64_t number, std::int64_t ns) {
    gpu_ += ns;
    record.time_ns = gpu_;
    record.end_ns = gpu_ += ns + kEvents;
    record.correlation_id = static_cast<std::uint32_t>(number);
    record.device = 0;
    spool_->append(record);
  }

  const RecordedJob& job_;
  const RecordedTimes& times_;
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::int64_t gpu_ = 5000;
};

LivePlan live_plan(std::size_t operations) {
  const trace::TestDirectory directory;
  const RecordedJob job = read_recorded_job(TFERRY_GOLDEN "/gpt2.runtime.spool.gz");
  const RecordedTimes times(TFERRY_GOLDEN "/gpt2.collector.spool.gz");
  const SwappingJob swapping(job, times, directory / "spool");
  trace::SpoolReader reader(directory / "spool");
  LiveRecording recording;
  for (auto record = reader.next(); record && recording.operations() < operations; record = reader.next())
    recording.add(*record);
  LivePlanOptions options;
  options.budget_bytes = kBudget;
  options.memory = trace::MemoryRules::for_budget(kBudget);
  options.name = "live";
  return make_live_plan(recording, options);
}

/// The same actions in the workload of another recording; false where there are none.
bool carried_over(const PlacedPlan& from, const Workload& to, Plan& plan) {
  std::map<std::string, std::uint32_t> tensors;
  for (std::uint32_t t = 0; t < to.tensors.size(); ++t) tensors[to.tensors[t].name] = t;
  plan = from.plan;
  for (PlanAction& action : plan.actions) {
    const auto found = tensors.find(from.workload.workload.tensors[action.tensor].name);
    if (found == tensors.end()) return false;
    action.tensor = found->second;
  }
  return true;
}

TEST(GoldenLivePlan, IsAsFastAsThatOfTheWholeSession) {
  const RankAnalysis whole = golden();
  ASSERT_TRUE(whole.placed);
  const LivePlan live = live_plan(~std::size_t{0});
  ASSERT_TRUE(live.plan) << live.reason;
  const trace::FlatPlan flat =
      make_flat_plan(whole, *whole.placed, plan_row(whole, *whole.placed), "of the session");
  ASSERT_EQ(flat.operations.size(), live.plan->operations.size());
  for (std::size_t i = 0; i < flat.operations.size(); ++i)
    ASSERT_EQ(flat.operations[i].signature, live.plan->operations[i].signature) << i;

  // What both move, and how long it takes with the times that CUPTI recorded without a budget.
  const auto moved = static_cast<double>(whole.placed->placement.bytes_out);
  EXPECT_NEAR(static_cast<double>(live.bytes_out), moved, 0.05 * moved);
  PlacedPlan measured = *whole.placed;
  Plan same;
  ASSERT_TRUE(carried_over(*live.placed, measured.workload.workload, same));
  ASSERT_TRUE(place(measured, same, {}));
  EXPECT_LE(measured.plan.predicted_ns, 1.05 * whole.placed->plan.predicted_ns);
  RecordProperty("whole_ms", std::to_string(whole.placed->plan.predicted_ns / 1e6));
  RecordProperty("live_ms", std::to_string(measured.plan.predicted_ns / 1e6));
  // And its own prediction, with times by kernel and grid alone: as close as predictions are to be.
  EXPECT_NEAR(live.placed->plan.predicted_ns, whole.placed->plan.predicted_ns,
              0.1 * whole.placed->plan.predicted_ns);
}

// However far the job is: while it makes its model and warms up, nothing that repeats itself is an iteration.
TEST(GoldenLivePlan, IsMadeForNothingButTheIteration) {
  for (std::size_t operations = 100; operations < 3 * 845; operations += 150) {
    const LivePlan early = live_plan(operations);
    EXPECT_FALSE(early.plan) << operations << " operations: " << early.moves << " moves";
  }
}

}  // namespace
}  // namespace tferry::replay
