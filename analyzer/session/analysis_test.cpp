#include "analyzer/session/analysis.hpp"

#include "analyzer/session/store.hpp"
#include "analyzer/session/workload_session.hpp"
#include "analyzer/workload/transformer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::analyzer {
namespace {

class AnalysisTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "a.tferry"; }

  void record(const Workload& workload, int iterations) {
    trace::SessionWriter writer = trace::SessionWriter::create(path());
    WorkloadSession job(workload, writer);
    for (int i = 0; i < 5; ++i) job.other("initialise " + std::to_string(i));
    for (int i = 0; i < iterations; ++i) job.iteration();
    job.other("print");
    job.finish();
    writer.publish();
  }

  std::vector<RankAnalysis> analyse(const AnalysisOptions& options) {
    trace::Session session = trace::Session::open(path());
    return analyze_session(session, options);
  }

  trace::TestDirectory directory_;
};

// A model of 170 MB: counted in small chunks, all of which can move.
constexpr trace::MemoryRules kSmallChunks{64 << 10, 64 << 10};

Workload small_transformer() {
  Workload workload =
      transformer_training({.layers = 2, .width = 256, .batch = 2, .context = 512, .vocabulary = 8000});
  for (Tensor& tensor : workload.tensors) {
    const auto pieces =
        static_cast<std::int64_t>(kSmallChunks.pieces(static_cast<std::uint64_t>(tensor.size)));
    tensor.size = pieces * static_cast<std::int64_t>(kSmallChunks.chunk);
  }
  return workload;
}

AnalysisOptions oversubscribed(double factor) {
  AnalysisOptions options;
  options.oversubscription = factor;
  options.chunk_bytes = options.movable_bytes = static_cast<std::int64_t>(kSmallChunks.chunk);
  options.planner.rounds = 20;
  return options;
}

std::vector<std::tuple<std::int64_t, bool, std::uint32_t, std::uint32_t>> lives(const Workload& workload) {
  std::vector<std::tuple<std::int64_t, bool, std::uint32_t, std::uint32_t>> all;
  for (const Tensor& tensor : workload.tensors) {
    all.emplace_back(tensor.size, tensor.persistent, tensor.birth, tensor.death);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(AnalysisTest, ARecordingGivesBackTheWorkload) {
  const Workload workload = small_transformer();
  record(workload, 6);
  const auto ranks = analyse(oversubscribed(1.5));
  ASSERT_EQ(ranks.size(), 1u);
  const RankAnalysis& rank = ranks[0];
  EXPECT_TRUE(rank.unknown.empty()) << rank.unknown[0];
  ASSERT_TRUE(rank.iterations);
  EXPECT_EQ(rank.iterations->period, workload.operations.size());
  EXPECT_EQ(rank.iterations->first(), 5u);
  ASSERT_TRUE(rank.typical);
  EXPECT_EQ(rank.typical->regular.size(), 6u);
  EXPECT_EQ(rank.typical->footprint_bytes, footprint(workload));
  EXPECT_EQ(lives(rank.typical->workload), lives(workload));
  EXPECT_NEAR(rank.typical->iteration_ns, static_cast<double>(compute_time(workload)), 1);

  Workload expected = workload;
  expected.budget = rank.budget_bytes;
  EXPECT_EQ(rank.budget_bytes, static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / 1.5));
  ASSERT_TRUE(rank.bound);
  EXPECT_DOUBLE_EQ(rank.bound->time_ns, lower_bound(expected).time_ns);
  EXPECT_EQ(rank.link_known_by, "assumed");
  ASSERT_EQ(rank.simulations.size(), 5u)
      << "three policies, the plan, a smaller batch: recomputing is not enough";
  EXPECT_GE(rank.simulations[0].result.time_ns, rank.bound->time_ns);
  ASSERT_TRUE(rank.placed);
  EXPECT_TRUE(plan_errors(rank.placed->workload.workload, rank.placed->plan).empty());
  EXPECT_LE(rank.placed->split.plan() * kSmallChunks.chunk, static_cast<std::uint64_t>(rank.budget_bytes));
  EXPECT_GE(rank.placed->plan.predicted_ns, rank.bound->time_ns);
}

TEST_F(AnalysisTest, ResultsAreStoredBesideTheRecording) {
  const Workload workload = small_transformer();
  record(workload, 4);
  const auto ranks = analyse(oversubscribed(1.5));
  for (int twice = 0; twice < 2; ++twice) {
    trace::SessionWriter writer = trace::SessionWriter::edit(path());
    store_analysis(writer, ranks);
    writer.publish();
  }
  trace::Session session = trace::Session::open(path());
  EXPECT_EQ(session.count<trace::IterationRow>("regular = 1"), 4);
  EXPECT_EQ(session.count<trace::OperationRow>(),
            static_cast<std::int64_t>(6 + 4 * workload.operations.size()));
  EXPECT_EQ(session.count<trace::TensorRow>(), static_cast<std::int64_t>(workload.tensors.size()));
  EXPECT_EQ(session.count<trace::SimulationRow>(), 5);
  EXPECT_EQ(session.count<trace::BoundRow>(), 1);
  EXPECT_EQ(session.count<trace::PlanRow>(), 2) << "plans stay";
  const auto bound = session.first<trace::BoundRow>().value();
  EXPECT_EQ(bound.bound_ns, static_cast<std::int64_t>(ranks[0].bound->time_ns + 0.5));
  EXPECT_EQ(session.integer(
                "SELECT count(*) FROM plan_action LEFT JOIN tensor ON tensor.id = plan_action.tensor_id "
                "WHERE tensor.id IS NULL OR plan_action.offset + plan_action.bytes <> tensor.bytes"),
            0);
  EXPECT_EQ(
      session.integer("SELECT count(*) FROM operation WHERE position IS NOT NULL AND duration_ns IS NULL"),
      0);
}

TEST_F(AnalysisTest, WhereRanksWaitForEachOtherIsCounted) {
  Workload workload = small_transformer();
  for (const std::size_t at : {10U, 20U, 21U})
    workload.operations[at].name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL " + std::to_string(at);
  record(workload, 4);
  trace::SessionWriter writer = trace::SessionWriter::edit(path());
  AnalysisOptions options;
  options.plan = false;
  store_analysis(writer, analyse(options));
  writer.publish();
  trace::Session session = trace::Session::open(path());
  EXPECT_EQ(
      session.integer("SELECT count(*) FROM iteration WHERE synchronisations = 3 AND micro_batches = 1"), 4);
}

TEST_F(AnalysisTest, WhatIsNotKnownIsSaid) {
  record(small_transformer(), 4);
  EXPECT_EQ(analyse({}).at(0).unknown,
            (std::vector<std::string>{"bound: no budget; give --budget or --oversubscribe"}));
  AnalysisOptions tiny;
  tiny.budget_bytes = 1000;
  EXPECT_EQ(analyse(tiny).at(0).unknown.at(0).substr(0, 42), "bound: the budget of 1000 bytes is less th");
  AnalysisOptions senseless;
  senseless.oversubscription = -1;
  EXPECT_THROW(analyse(senseless), std::invalid_argument);
}

TEST_F(AnalysisTest, TooFewIterations) {
  record(small_transformer(), 2);
  const auto ranks = analyse({});
  EXPECT_FALSE(ranks.at(0).iterations);
  EXPECT_EQ(ranks.at(0).unknown.at(0).substr(0, 11), "iterations:");
}

TEST_F(AnalysisTest, AnEmptySessionHasNoRanks) {
  trace::SessionWriter::create(path()).publish();
  EXPECT_TRUE(analyse({}).empty());
}

TEST_F(AnalysisTest, MeasuredLinkRatesAreUsed) {
  trace::SessionWriter writer = trace::SessionWriter::create(path());
  trace::LinkRow row;
  row.kind = "pcie";
  row.device_id = 1;
  row.h2d_bytes_per_second = 25e9;
  row.d2h_bytes_per_second = 20e9;
  row.duplex_h2d_bytes_per_second = 18e9;
  row.duplex_d2h_bytes_per_second = 17e9;
  row.known_by = "measured";
  writer.insert(row);
  writer.publish();
  trace::Session session = trace::Session::open(path());
  std::string known_by;
  const LinkRates rates = link_rates(session, 1, &known_by);
  EXPECT_EQ(known_by, "measured");
  EXPECT_DOUBLE_EQ(rates.in, 25);
  EXPECT_DOUBLE_EQ(rates.duplex_out, 17);
  EXPECT_EQ(link_rates(session, 2, &known_by), LinkRates{});
  EXPECT_EQ(known_by, "assumed");
}

}  // namespace
}  // namespace tferry::analyzer
