// GPT-2's allocations as PyTorch makes them (tests/data), replayed under a plan: as recorded, and with
// operations and allocations more, neighbours swapped and frees late.
#include "tests/runtime/drivers.hpp"
#include "tests/runtime/surprising_run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::runtime_test {
namespace {

constexpr std::int64_t kScale = 256;    ///< of the recorded sizes: 2.4 GiB become 10 MiB
constexpr std::size_t kLeastGap = 150;  ///< operations from which a tensor leaves between two uses
constexpr std::size_t kAhead = 40;      ///< operations before the second at which it returns

struct Record {
  std::uint32_t operation;
  std::uint32_t id;
  std::uint64_t bytes;
};
static_assert(sizeof(Record) == 16);

std::vector<Record> read_log(const std::string& name) {
  const std::string command = std::string("gzip -dc '") + TFERRY_TEST_DATA + "/" + name + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error(command);
  std::vector<Record> records;
  Record record{};
  while (std::fread(&record, sizeof record, 1, pipe.get()) == 1) records.push_back(record);
  return records;
}

/// The log's second step as an iteration: every allocation is filled at once, and worked on before it is
/// freed; what lives on is worked on once a step.
class LoggedProgram {
 public:
  LoggedProgram(const std::vector<Record>& log, std::size_t chunk) : program(chunk), chunk_(chunk) {
    split(log);
    for (const Record& record : before_) {
      if (!freed_.contains(record.id) && large(record)) lasting_.push_back(record.id);
    }
    for (const std::uint32_t id : lasting_) tensors_[id] = program.story().persistent(sizes_[id]);
    tell();
  }

  PlannedProgram program;
  std::size_t moved = 0;  ///< pieces a step, each way

 private:
  struct Told {
    bool allocates = false;
    bool frees = false;
    std::uint32_t id = 0;
  };

  bool large(const Record& record) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(record.bytes) / kScale) > chunk_ / 2;
  }

  void split(const std::vector<Record>& log) {
    std::uint32_t step = 0;
    std::vector<Record> next;
    for (const Record& record : log) {
      if (record.operation == 2) step = record.id;
      if (record.operation == 2) continue;
      sizes_[record.id] = static_cast<std::int64_t>(record.bytes) / kScale;
      if (step < 2 && record.operation == 0) before_.push_back(record);
      if (record.operation == 1) freed_[record.id] = true;
      if (step == 2) step_.push_back(record);
      if (step == 3) next.push_back(record);
    }
    if (step_.size() != next.size()) throw std::runtime_error("steps 2 and 3 differ");
    // A free of what an earlier step left is, a step later, one of what this step makes.
    for (std::size_t i = 0; i < step_.size(); ++i) {
      if (step_[i].operation == 1) step_[i].id = step_of(next, i);
    }
  }
  std::uint32_t step_of(const std::vector<Record>& next, std::size_t at) const {
    for (std::size_t i = 0; i < at; ++i) {
      if (step_[i].operation == 0 && step_[i].id == step_[at].id) return step_[at].id;
    }
    return next[at].id;
  }

  /// Operations: one after each allocation, one before each free, one for each that lives on, at the end.
  void tell() {
    std::vector<Told> told;
    std::map<std::uint32_t, std::vector<std::size_t>> uses;
    std::size_t position = 0;
    for (const Record& record : step_) {
      if (!large(record)) continue;
      told.push_back({record.operation == 0, record.operation == 1, record.id});
      uses[record.id].push_back(position++);
    }
    for (const std::uint32_t id : lasting_) {
      told.push_back({false, false, id});
      uses[id].push_back(position++);
    }
    std::map<std::size_t, std::vector<std::uint32_t>> back;
    for (const auto& [id, at] : uses) {
      if (at.size() == 2 && at[1] >= at[0] + kLeastGap) back[at[1] - kAhead].push_back(id);
    }
    for (std::size_t at = 0; at < told.size(); ++at) {
      for (const std::uint32_t id : back[at]) program.come_back(tensors_[id]);
      tell(told[at], uses[told[at].id], at);
    }
  }

  void tell(const Told& event, const std::vector<std::size_t>& uses, std::size_t at) {
    const auto grid = static_cast<unsigned>(1 + sizes_[event.id] % 60'000);
    if (event.allocates) {
      tensors_[event.id] = program.story().allocate(sizes_[event.id]);
      program.fill(tensors_[event.id], grid);
      if (uses.size() == 2 && uses[0] == at && uses[1] >= at + kLeastGap) {
        program.leave(tensors_[event.id]);
        moved += program.story().tensors()[static_cast<std::size_t>(tensors_[event.id])].pieces;
      }
      return;
    }
    if (tensors_.contains(event.id)) program.add(tensors_[event.id], grid);
    if (event.frees && tensors_.contains(event.id)) program.free(tensors_[event.id]);
  }

  std::size_t chunk_;
  std::vector<Record> before_;
  std::vector<Record> step_;
  std::map<std::uint32_t, bool> freed_;
  std::map<std::uint32_t, std::int64_t> sizes_;
  std::map<std::uint32_t, int> tensors_;
  std::vector<std::uint32_t> lasting_;
};

class AllocationLogs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { drivers_.set_jitter(0); }
  void TearDown() override {
    EXPECT_EQ(CUDA_SUCCESS, drivers_.ferried().cuDevicePrimaryCtxReset_v2(0));
    EXPECT_EQ(0, drivers_.statistics().illegal_accesses);
    EXPECT_EQ(0U, drivers_.statistics().memory_used);
  }
  CUstream start(const trace::FlatPlan& plan) {
    drivers_.set_budget(plan.budget_bytes);
    drivers_.clear_peaks();
    const Api& api = drivers_.ferried();
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, api.cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_EQ(CUDA_SUCCESS, api.cuCtxSetCurrent(context));
    EXPECT_EQ(CUDA_SUCCESS, api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    std::string error;
    EXPECT_TRUE(write_plan(drivers_.live_plan_path(), plan, error)) << error;
    return stream;
  }

  Drivers& drivers_ = Drivers::get();
  const trace::DeviceStatus& device_ = Drivers::get().device();
};

TEST_P(AllocationLogs, ArePlacedWithoutConflictOrMappingCallStepAfterStep) {
  const LoggedProgram logged(read_log(GetParam()), drivers_.chunk());
  const trace::FlatPlan plan = logged.program.story().plan(4);
  ProgramRun run(logged.program, drivers_.ferried(), start(plan));
  for (int i = 0; i < 3; ++i) run.iterate();
  ASSERT_EQ(static_cast<std::int64_t>(trace::PlanState::kFollowing), device_.plan_state);
  const std::int64_t followed = device_.plan_iterations_followed;
  const std::int64_t placed = device_.plan_placed;
  const std::int64_t mappings = device_.plan_mappings;
  const std::int64_t conflicts = device_.plan_conflicts;
  const std::int64_t out = device_.bytes_out;
  for (int i = 0; i < 3; ++i) run.iterate();
  EXPECT_EQ(3, device_.plan_iterations_followed - followed);
  EXPECT_EQ(0, device_.plan_mappings - mappings);
  EXPECT_EQ(0, device_.plan_conflicts - conflicts);
  EXPECT_LT(3 * 300, device_.plan_placed - placed);
  EXPECT_LT(100U, logged.moved);
  EXPECT_EQ(3 * static_cast<std::int64_t>(logged.moved * drivers_.chunk()), device_.bytes_out - out);
  EXPECT_EQ("", run.difference());
  EXPECT_LE(drivers_.statistics().memory_peak, plan.budget_bytes);
}

TEST_P(AllocationLogs, GiveNoWrongByteWhenStepsDiffer) {
  const LoggedProgram logged(read_log(GetParam()), drivers_.chunk());
  const trace::FlatPlan plan = logged.program.story().plan(16);
  Random random(1);
  SurprisingRun job(logged.program, drivers_.ferried(), start(plan), random);
  for (int i = 0; i < 3; ++i) job.iterate(0);
  const std::int64_t conflicts = device_.plan_conflicts;
  const std::int64_t rejoins = device_.plan_rejoins;
  for (const std::size_t one_in : {400U, 100U, 20U}) {
    job.iterate(one_in);
    ASSERT_EQ("", job.run.difference()) << "a surprise in " << one_in << " events";
  }
  EXPECT_LT(conflicts, device_.plan_conflicts);
  EXPECT_LT(rejoins, device_.plan_rejoins);
  job.end();
  for (int i = 0; i < 3; ++i) job.iterate(0);
  const std::int64_t followed = device_.plan_iterations_followed;
  const std::int64_t mappings = device_.plan_mappings;
  const std::int64_t later = device_.plan_conflicts;
  for (int i = 0; i < 2; ++i) job.iterate(0);
  EXPECT_EQ(2, device_.plan_iterations_followed - followed);
  EXPECT_EQ(0, device_.plan_mappings - mappings);
  EXPECT_EQ(0, device_.plan_conflicts - later);
  EXPECT_EQ("", job.run.difference());
  RecordProperty("conflicts", static_cast<int>(later - conflicts));
  std::printf("conflicts %ld, late fetches %ld, surprises %ld, put back by %ld mappings\n",
              static_cast<long>(later - conflicts), static_cast<long>(device_.plan_late_fetches),
              static_cast<long>(device_.plan_surprises), static_cast<long>(device_.plan_set_up_mappings));
}

INSTANTIATE_TEST_SUITE_P(Gpt2, AllocationLogs,
                         ::testing::Values("gpt2_allocations_fp32.bin.gz", "gpt2_allocations_bf16.bin.gz"),
                         [](const auto& parameter) {
                           return std::string(parameter.param).find("fp32") != std::string::npos ? "fp32"
                                                                                                 : "bf16";
                         });

}  // namespace
}  // namespace tferry::runtime_test
