// Ranks of a job as processes on the software driver, whose transfers take turns: whatever happens to one of
// them, the others end with the right bytes, and soon.
#include "tests/end_to_end/job.hpp"
#include "tests/end_to_end/layers_plan.hpp"
#include "tests/runtime/plan_story.hpp"
#include "trace/job_status.hpp"
#include "trace/slot_segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tferry::end_to_end {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::int64_t kMs = 1'000'000;

using Variables = std::map<std::string, std::string>;

void sleep_ms(unsigned ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class CoordinatedRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::temp_directory_path() / "tferry-ranks-test-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(path.data()));
    directory_ = path;
    make_segment();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void make_segment(trace::SlotOrder order = trace::SlotOrder::kFixed) {
    std::string error;
    std::filesystem::remove(segment_path());
    segment_ = trace::SlotSegment::create(segment_path(), order, 20 * kMs, error);
    ASSERT_TRUE(segment_) << error;
  }
  std::string segment_path() const { return directory_ + "/slots"; }

  /// 30 buffers of 2 MiB, half of which fit.
  static std::vector<std::string> layers(int iterations) {
    return {TFERRY_LAYERS, "--buffers", "30", "--mib", "2", "--iterations", std::to_string(iterations),
            "--hidden",    "1"};
  }
  static Variables driver(Variables more = {}) {
    more.insert({{"LD_LIBRARY_PATH", TFERRY_SOFTWARE_DRIVER_DIRECTORY},
                 {"SWD_DEVICE_MEMORY", std::to_string(512 * kMiB)},
                 {"SWD_POISON", "1"}});
    return more;
  }
  Variables rank(int number, Variables more = {}) const {
    more.insert({{"LD_PRELOAD", TFERRY_RUNTIME_LIBRARY},
                 {"TFERRY_MOVABLE", std::to_string(2 * kMiB)},
                 {"TFERRY_RUN_DIR", directory_},
                 {"TFERRY_BUDGET", std::to_string(32 * kMiB)},
                 {"TFERRY_COORDINATE", "orchestrate"},
                 {"TFERRY_SLOT_SEGMENT", segment_path()},
                 {"RANK", std::to_string(number)},
                 {"LOCAL_RANK", std::to_string(number)}});
    return driver(std::move(more));
  }
  std::unique_ptr<RunningJob> start(int number, int iterations, Variables more = {}) const {
    return std::make_unique<RunningJob>(layers(iterations), rank(number, std::move(more)));
  }
  static std::string right_answer(int iterations) {
    const Ended native = run_job(layers(iterations), driver());
    EXPECT_EQ(0, native.code) << native.err;
    return native.answer();
  }
  static void expect_right(const Ended& ended, const std::string& answer) {
    EXPECT_EQ(0, ended.code) << ended.err;
    EXPECT_EQ(answer, ended.answer()) << ended.err;
  }

  /// Pages of the processes that moved anything.
  std::vector<std::unique_ptr<trace::JobStatus>> pages() const {
    std::vector<std::unique_ptr<trace::JobStatus>> pages;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (!entry.path().filename().string().starts_with("status.")) continue;
      auto page = std::make_unique<trace::JobStatus>();
      std::ifstream file(entry.path(), std::ios::binary);
      file.read(reinterpret_cast<char*>(page.get()), sizeof *page);
      if (page->device[0].bytes_out > 0) pages.push_back(std::move(page));
    }
    return pages;
  }
  /// A moment within the life of a job, another one in every test, and the same in every run of it.
  unsigned moment(unsigned salt, unsigned most_ms) {
    std::mt19937 random(salt);
    return std::uniform_int_distribution<unsigned>(50, most_ms)(random);
  }

  std::string directory_;
  std::unique_ptr<trace::SlotSegment> segment_;
};

// They meet on the link that their contents go by.
TEST_F(CoordinatedRanks, ThoseThatGoByANeighbourTakeTurnsOnItsLink) {
  const std::string answer = right_answer(4);
  for (const auto& [route, links] : {std::pair{"neighbour", 1U}, {"both", 1U}, {"direct,neighbour:1", 2U}}) {
    SCOPED_TRACE(route);
    TearDown();
    SetUp();
    std::vector<std::unique_ptr<RunningJob>> jobs;
    for (int r = 0; r < 2; ++r) jobs.push_back(start(r, 4, {{"SWD_DEVICES", "2"}, {"TFERRY_ROUTE", route}}));
    for (std::size_t r = 0; r < jobs.size(); ++r) {
      const Ended ended = jobs[r]->wait();
      expect_right(ended, answer);
      const bool detour = links == 1 || r == 1;
      EXPECT_EQ(detour, ended.err.find("copies go by the link of GPU 1") != std::string::npos) << ended.err;
    }
    std::size_t used = 0;
    for (const auto& link : segment_->layout().link) used += link.name != 0;
    EXPECT_EQ(links, used);
  }
}

TEST_F(CoordinatedRanks, TwoFourAndEightHaveTheRightBytesInEveryOrder) {
  const std::string answer = right_answer(4);
  using trace::SlotOrder;
  for (const auto& [ranks, order] : {std::pair{2, SlotOrder::kFixed},
                                     {2, SlotOrder::kRotating},
                                     {4, SlotOrder::kDeadline},
                                     {4, SlotOrder::kBehind},
                                     {8, SlotOrder::kFixed}}) {
    SCOPED_TRACE(ranks);
    TearDown();
    SetUp();
    make_segment(order);
    std::vector<std::unique_ptr<RunningJob>> jobs;
    for (int r = 0; r < ranks; ++r) jobs.push_back(start(r, 4));
    for (const auto& job : jobs) expect_right(job->wait(), answer);
    const auto status = pages();
    ASSERT_EQ(static_cast<std::size_t>(ranks), status.size());
    std::int64_t asked = 0, most_members = 0;
    for (const auto& page : status) {
      const trace::DeviceStatus& device = page->device[0];
      asked += device.slots_asked;
      most_members = std::max<std::int64_t>(most_members, device.slot_members);
      EXPECT_EQ(device.slots_asked, device.slots_granted);
      EXPECT_LE(device.resident_peak, device.budget);
      EXPECT_EQ(std::string(), page->message);
    }
    EXPECT_LT(0, asked);
    EXPECT_LE(2, most_members) << "they begin at about the same time";
    EXPECT_GE(ranks, most_members);
    for (const auto& member : segment_->layout().member) EXPECT_EQ(0U, member.owner) << "everybody left";
  }
}

TEST_F(CoordinatedRanks, ALoneRankPassesWithoutATurn) {
  expect_right(start(0, 3)->wait(), right_answer(3));
  const auto status = pages();
  ASSERT_EQ(1U, status.size());
  EXPECT_EQ(1, status[0]->device[0].slot_members);
  EXPECT_EQ(0, status[0]->device[0].slots_asked + status[0]->device[0].slots_ahead);
}

TEST_F(CoordinatedRanks, WithoutASegmentARankGoesOnAlone) {
  const Ended ended = start(0, 3, {{"TFERRY_SLOT_SEGMENT", directory_ + "/none"}})->wait();
  expect_right(ended, right_answer(3));
  EXPECT_NE(std::string::npos, ended.err.find("take no turns")) << ended.err;
}

TEST_F(CoordinatedRanks, RanksOnDifferentLinksDoNotKnowOfEachOther) {
  std::ofstream(directory_ + "/one") << "0000:01:00.0 left\n";
  std::ofstream(directory_ + "/other") << "# nothing\n";
  auto one = start(0, 3, {{"TFERRY_LINKS", directory_ + "/one"}});
  auto other = start(1, 3, {{"TFERRY_LINKS", directory_ + "/other"}});
  const std::string answer = right_answer(3);
  expect_right(one->wait(), answer);
  expect_right(other->wait(), answer);
  std::size_t links = 0;
  for (const auto& link : segment_->layout().link) links += link.name != 0;
  EXPECT_EQ(2U, links);
  for (const auto& page : pages()) EXPECT_EQ(1, page->device[0].slot_members);
}

TEST_F(CoordinatedRanks, AKilledOneHoldsNobodyUp) {
  const std::string answer = right_answer(6);
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    TearDown();
    SetUp();
    std::vector<std::unique_ptr<RunningJob>> jobs;
    for (int r = 0; r < 3; ++r) jobs.push_back(start(r, r == 0 ? 500 : 6));
    sleep_ms(moment(seed, 900));
    jobs[0]->send(SIGKILL);
    for (std::size_t r = 1; r < 3; ++r) expect_right(jobs[r]->wait(60), answer);
    EXPECT_EQ(128 + SIGKILL, jobs[0]->wait().code);
  }
}

TEST_F(CoordinatedRanks, AStoppedOneHoldsNobodyUpAndGoesOnRightly) {
  const std::string answer = right_answer(6);
  for (unsigned seed = 10; seed < 13; ++seed) {
    SCOPED_TRACE(seed);
    TearDown();
    SetUp();
    std::vector<std::unique_ptr<RunningJob>> jobs;
    for (int r = 0; r < 3; ++r) jobs.push_back(start(r, 6));
    sleep_ms(moment(seed, 700));
    jobs[0]->send(SIGSTOP);
    for (std::size_t r = 1; r < 3; ++r) expect_right(jobs[r]->wait(60), answer);
    jobs[0]->send(SIGCONT);
    expect_right(jobs[0]->wait(60), answer);
  }
}

// One is killed or stopped at any moment, also while they agree on the iteration at which the plan changes,
// or try out whether turns pay.
TEST_F(CoordinatedRanks, PlansChangeWhateverHappensToOneOfThem) {
  constexpr int kIterations = 30;
  const std::string answer = right_answer(kIterations);
  samples::LayersOptions sample;
  sample.buffers = 30;
  sample.mib = 2;
  sample.hidden = 1;
  sample.iterations = kIterations;
  const trace::FlatPlan plan = layers_plan(sample);
  for (unsigned seed = 20; seed < 23; ++seed) {
    SCOPED_TRACE(seed);
    TearDown();
    SetUp();
    std::string error;
    ASSERT_TRUE(runtime_test::write_plan(directory_ + "/flat.plan", plan, error)) << error;
    std::vector<std::unique_ptr<RunningJob>> jobs;
    for (int r = 0; r < 3; ++r) {
      jobs.push_back(start(r, kIterations,
                           {{"TFERRY_COORDINATE", "auto"},
                            {"TFERRY_PLAN", directory_ + "/flat.plan"},
                            {"TFERRY_BUDGET", std::to_string(plan.budget_bytes)}}));
    }
    if (seed > 20) sleep_ms(moment(seed, 1500));
    if (seed > 20) jobs[0]->send(seed % 2 == 0 ? SIGKILL : SIGSTOP);
    for (std::size_t r = seed > 20 ? 1 : 0; r < 3; ++r) {
      const Ended ended = jobs[r]->wait(90);
      expect_right(ended, answer);
    }
    if (seed > 20) jobs[0]->send(SIGCONT);
    if (seed > 20) jobs[0]->wait(90);
    int followed = 0;
    for (const auto& page : pages()) {
      followed += page->device[0].plan_adoptions > 0;
      EXPECT_LE(page->device[0].resident_peak, page->device[0].budget);
    }
    EXPECT_LE(2, followed);
    const std::uint64_t changes = segment_->layout().change >> 48;
    EXPECT_GE(1U, changes) << "there is one plan";
  }
}

TEST_F(CoordinatedRanks, LateJoinersAndEarlyLeaversAreWelcome) {
  const std::string longer = right_answer(9), shorter = right_answer(2);
  auto first = start(0, 9);
  sleep_ms(300);
  auto second = start(1, 2);
  expect_right(second->wait(60), shorter);
  auto third = start(2, 2);
  auto interrupted = start(3, 500);
  sleep_ms(250);
  interrupted->send(SIGTERM);
  expect_right(third->wait(60), shorter);
  expect_right(first->wait(60), longer);
  EXPECT_EQ(128 + SIGTERM, interrupted->wait(60).code);
}

TEST_F(CoordinatedRanks, RandomProgramsHaveTheRightBytes) {
  std::vector<std::unique_ptr<RunningJob>> jobs;
  for (int r = 0; r < 3; ++r) {
    jobs.push_back(std::make_unique<RunningJob>(
        std::vector<std::string>{TFERRY_RANDOM_PROGRAMS, "--gtest_filter=Programs/RandomPrograms.*/" +
                                                             std::to_string(r) + ":Programs/FaultyDriver.*/" +
                                                             std::to_string(r)},
        Variables{{"TFERRY_COORDINATE", "orchestrate"},
                  {"TFERRY_SLOT_SEGMENT", segment_path()},
                  {"LOCAL_RANK", std::to_string(r)}}));
  }
  for (const auto& job : jobs) {
    const Ended ended = job->wait(250);
    EXPECT_EQ(0, ended.code) << ended.out << ended.err;
  }
  EXPECT_LE(3U, segment_->layout().joined);
}

/// KiB that each operation of a job had to fetch, in the order of its operations.
std::vector<std::uint32_t> fetched(const std::string& directory) {
  std::vector<std::uint32_t> all;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with("operations.")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    trace::OperationLogHeader header;
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    const std::uint64_t written = std::min<std::uint64_t>(header.written, header.capacity);
    std::vector<trace::OperationEntry> entries(written);
    file.read(reinterpret_cast<char*>(entries.data()),
              static_cast<std::streamsize>(written * sizeof entries[0]));
    for (const trace::OperationEntry& operation : entries) all.push_back(operation.fetched_kib);
  }
  return all;
}

// A job with iterations of more operations than count as recent: what was used just now is nobody's to move.
TEST_F(CoordinatedRanks, InterleavedOnesMoveDifferentTensors) {
  const std::vector<std::string> many = {TFERRY_LAYERS,  "--buffers", "150",      "--mib", "2",
                                         "--iterations", "3",         "--hidden", "1"};
  const std::string answer = run_job(many, driver()).answer();
  std::vector<std::uint32_t> moved[2][2];  // by mode and rank
  for (const int mode : {0, 1}) {
    for (const int number : {0, 1}) {
      TearDown();
      SetUp();
      RunningJob job(many, rank(number, {{"TFERRY_COORDINATE", mode == 1 ? "interleave" : "off"},
                                         {"TFERRY_BUDGET", std::to_string(200 * kMiB)},
                                         {"LOCAL_WORLD_SIZE", "2"}}));
      expect_right(job.wait(), answer);
      moved[mode][number] = fetched(directory_);
      EXPECT_LE(pages().at(0)->device[0].resident_peak, pages().at(0)->device[0].budget);
    }
  }
  EXPECT_EQ(moved[0][0], moved[0][1]) << "both ranks do the same";
  EXPECT_NE(moved[1][0], moved[1][1]);
  EXPECT_NE(moved[0][0], moved[1][0]);
}

TEST_F(CoordinatedRanks, TheLauncherMakesTheSegmentAndNothingIsLeftOfIt) {
  const std::filesystem::path place = directory_ + "/place";
  std::filesystem::create_directory(place);
  std::string words;
  for (const std::string& word : layers(12)) words += " " + word;
  Variables variables = driver({{"XDG_RUNTIME_DIR", place}});
  const Ended ended = run_job({TFERRY_PROGRAM, "run", "--coordinate", "orchestrate", "--budget", "32MiB",
                               "--movable", "2MiB", "--json", directory_ + "/report", "/bin/sh", "-c",
                               "LOCAL_RANK=1" + words + " & LOCAL_RANK=0" + words + "; wait"},
                              variables);
  EXPECT_EQ(0, ended.code) << ended.err;
  EXPECT_NE(std::string::npos, ended.err.find("2 GPUs took turns on the link")) << ended.err;
  EXPECT_NE(std::string::npos, ended.err.find("ranks: transfers of ranks on one link take turns"))
      << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(place)) << "the run directory went, and the segment with it";
  const std::string answer = right_answer(12);
  const auto first = ended.out.find("answer ok " + answer);
  ASSERT_NE(std::string::npos, first) << ended.out;
  EXPECT_NE(std::string::npos, ended.out.find("answer ok " + answer, first + 1)) << ended.out;
}

TEST_F(CoordinatedRanks, LaunchersOfOneJobMeetAndTheLastRemovesTheSegment) {
  const std::filesystem::path place = directory_ + "/place";
  std::filesystem::create_directory(place);
  std::vector<std::unique_ptr<RunningJob>> launchers;
  for (int r = 0; r < 2; ++r) {
    std::vector<std::string> command{TFERRY_PROGRAM, "run",   "--coordinate", "orchestrate",
                                     "--budget",     "32MiB", "--movable",    "2MiB"};
    for (const std::string& word : layers(12)) command.push_back(word);
    launchers.push_back(std::make_unique<RunningJob>(command, driver({{"XDG_RUNTIME_DIR", place},
                                                                      {"TORCHELASTIC_RUN_ID", "none"},
                                                                      {"MASTER_PORT", "29500"},
                                                                      {"RANK", std::to_string(r)},
                                                                      {"LOCAL_RANK", std::to_string(r)}})));
  }
  const std::string answer = right_answer(12);
  for (const auto& launcher : launchers) {
    const Ended ended = launcher->wait();
    expect_right(ended, answer);
    EXPECT_NE(std::string::npos, ended.err.find("2 GPUs took turns on the link")) << ended.err;
  }
  for (const auto& entry : std::filesystem::directory_iterator(place))
    EXPECT_TRUE(std::filesystem::is_empty(entry.path())) << entry.path();
}

}  // namespace
}  // namespace tferry::end_to_end
