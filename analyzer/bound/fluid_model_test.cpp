// The bound against an independent formulation: the fluid linear program, in which bytes flow freely within
// the link's hull and memory is accounted at the start of every operation. Built only where CBC is installed.
#include "analyzer/bound/bound.hpp"
#include "analyzer/exact/fluid_program.hpp"
#include "analyzer/exact/linear_program.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/uses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tferry::analyzer {
namespace {

constexpr int kNone = -1;
constexpr double kMicro = 1e-3;  // the program is written in microseconds and megabytes
constexpr double kMega = 1e-6;

/// Least time of an iteration in nanoseconds. Columns: the time from each operation's start to the next
/// one's, the bytes in and out meanwhile, and at each start the bytes of each tensor absent and valid in host
/// memory.
double fluid_minimum(const Workload& workload) {
  LinearProgram program;
  const Uses uses(workload);
  const std::size_t n = workload.operations.size();
  struct Interval {
    int time, in, out;
    LinearProgram::Terms moved_in, moved_out, absent;
    double live = 0;
  };
  std::vector<Interval> intervals(n);
  for (std::size_t u = 0; u < n; ++u) {
    Interval& i = intervals[u];
    i.time = program.column(1, static_cast<double>(workload.operations[u].duration_ns) * kMicro);
    i.in = program.column(0);
    i.out = program.column(0);
    for (const Use& use : uses.of_operation(u)) {
      i.live += static_cast<double>(workload.tensors[use.tensor].size) * kMega;
    }
  }
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    const double size = static_cast<double>(workload.tensors[t].size) * kMega;
    const auto life = uses.of_tensor(t);
    bool ever_written = false;
    for (const Use& use : life) ever_written |= use.writes;
    std::vector<const Use*> at(n, nullptr);
    for (const Use& use : life) at[use.operation] = &use;
    std::vector<bool> needed(n, false);  // contents wanted from the start of u on, seen from before u
    for (const Gap& gap : gaps(workload, uses)) {
      if (gap.tensor != t || !gap.needed) continue;
      for (std::uint32_t u = gap.after + 1; u <= gap.before - (gap.last ? 1 : 0); ++u) needed[u % n] = true;
    }
    std::vector<int> absent(n, kNone), valid(n, kNone);
    for (std::size_t u = 0; u < n; ++u) {
      if (!needed[u]) continue;
      valid[u] = program.column(0, ever_written ? 0 : size, size);
      absent[u] = at[u] ? program.column(0, 0, 0) : program.column(0, 0, size);
      program.at_most({{absent[u], 1}, {valid[u], -1}}, 0);
      if (at[u]) continue;
      intervals[u].live += size;
      intervals[u].absent.emplace_back(absent[u], 1);
    }
    for (std::size_t u = 0; u < n; ++u) {
      const std::size_t next = (u + 1) % n;
      if (!needed[next]) continue;
      const bool written = at[u] && at[u]->writes;
      const int came = program.column(0);
      const int went = program.column(0);
      LinearProgram::Terms came_in{{came, 1}, {absent[next], 1}};
      if (needed[u] && !at[u]) came_in.emplace_back(absent[u], -1);
      program.at_least(came_in, 0);
      LinearProgram::Terms went_out{{went, 1}, {valid[next], -1}};
      if (needed[u] && !written) went_out.emplace_back(valid[u], 1);
      program.at_least(went_out, 0);
      intervals[u].moved_in.emplace_back(came, 1);
      intervals[u].moved_out.emplace_back(went, 1);
    }
  }
  const LinkRates& link = workload.link;
  const double unit = kMega / kMicro;  // bytes per ns to megabytes per us
  for (Interval& i : intervals) {
    program.at_least(i.absent, i.live - static_cast<double>(workload.budget) * kMega);
    auto in = i.moved_in;
    in.emplace_back(i.in, -1);
    program.at_most(in, 0);
    auto out = i.moved_out;
    out.emplace_back(i.out, -1);
    program.at_most(out, 0);
    program.at_most({{i.in, 1}, {i.out, link.beta()}, {i.time, -link.in * unit}}, 0);
    program.at_most({{i.out, 1}, {i.in, link.alpha()}, {i.time, -link.out * unit}}, 0);
  }
  const auto cost = program.minimise();
  if (!cost) throw std::runtime_error("the fluid program has no solution");
  return *cost / kMicro;
}

TEST(FluidModel, StreamsThatFlowTogetherGiveTheSameTime) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Workload workload = random_workload(random(), 3 + random() % 12, 1 + random() % 16);
    const double fluid = fluid_minimum(workload);
    ASSERT_NEAR(fluid_bound(workload, workload.operations.size()).time_ns, fluid, 1e-6 * fluid + 1)
        << "seed " << seed;
  }
}

TEST(FluidModel, FewerBreakpointsNeverRaiseIt) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Workload workload = random_workload(random(), 20 + random() % 20, 10 + random() % 16);
    const double fluid = fluid_minimum(workload);
    ASSERT_LE(fluid_bound(workload, 9).time_ns, fluid * (1 + 1e-6) + 1) << "seed " << seed;
  }
}

TEST(FluidModel, IsNeverBelowTheBoundAndSeldomFarAboveIt) {
  std::vector<double> ratios;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const Workload workload = random_workload(random(), 3 + random() % 12, 1 + random() % 16);
    const double bound = lower_bound(workload).time_ns;
    const double fluid = fluid_minimum(workload);
    ASSERT_LE(bound, fluid * (1 + 1e-6) + 1) << "seed " << seed;
    ratios.push_back(fluid == 0 ? 1 : bound / fluid);
  }
  std::sort(ratios.begin(), ratios.end());
  EXPECT_GE(ratios[ratios.size() / 2], 0.999);
  EXPECT_GE(ratios[ratios.size() / 100], 0.85);
  EXPECT_GE(ratios[0], 0.6);
  RecordProperty("worst", std::to_string(ratios[0]));
  RecordProperty("hundredth", std::to_string(ratios[ratios.size() / 100]));
}

}  // namespace
}  // namespace tferry::analyzer
