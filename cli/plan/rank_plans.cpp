#include "cli/plan/rank_plans.hpp"

#include "analyzer/planner/rank_plans.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "cli/failure.hpp"
#include "cli/session/edit_session.hpp"
#include "trace/session_rows.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace tferry::cli {
namespace {

constexpr std::size_t kMostRanks = 64;

std::string rank_name(std::size_t rank, std::size_t count) {
  return fmt::format("rank {} of {}", rank, count);
}

/// How many ranks a plan of rank 0 is one of; 0: it is none of several.
std::size_t ranks_of(const trace::PlanRow& row) {
  unsigned count = 0;
  int used = 0;
  const bool named = std::sscanf(row.name.c_str(), "rank 0 of %2u%n", &count, &used) == 1;
  return named && static_cast<std::size_t>(used) == row.name.size() && count <= kMostRanks ? count : 0;
}

}  // namespace

Table store_rank_plans(std::span<const analyzer::RankAnalysis> ranks, std::size_t count,
                       const std::filesystem::path& session) {
  Table table("rank_plans", fmt::format("Plans for {} ranks on a link that move different tensors", count),
              {{"rank"},
               {"plan"},
               {"time_alone", Unit::kNanoseconds},
               {"out", Unit::kBytes},
               {"in", Unit::kBytes},
               {"moved_by_others_too", Unit::kShare}});
  for (const analyzer::RankAnalysis& rank : ranks) {
    if (!rank.placed) continue;
    const auto plans = analyzer::plans_for_ranks(rank.source.recording, *rank.typical, *rank.placed,
                                                 rank.budget_bytes, count, {});
    if (plans.empty()) {
      table.notes.emplace_back("there are none: with other tensors, no places are found in this budget");
      return table;
    }
    std::vector<std::int64_t> ids(count);
    edit_session(session, session, true, [&](trace::SessionWriter& writer) {
      for (std::size_t r = count; r-- > 0;) {
        trace::PlanRow row = analyzer::plan_row(rank, plans[r]);
        row.name = rank_name(r, count);
        ids[r] = analyzer::insert_plan(writer, row, rank, plans[r], {});
      }
    });
    for (std::size_t r = 0; r < count; ++r) {
      table.add(KnownBy::kSimulated, {static_cast<std::int64_t>(r), ids[r], plans[r].plan.predicted_ns,
                                      plans[r].placement.bytes_out, plans[r].placement.bytes_in,
                                      analyzer::overlap_with_others(plans, r)});
    }
    return table;
  }
  table.notes.emplace_back("there are none: no plan was made");
  return table;
}

std::vector<PlanReference> find_rank_plans(const PlanReference& reference) {
  trace::Session session = trace::Session::open(reference.session.string());
  const auto first = reference.plan ? session.first<trace::PlanRow>("WHERE id = ?", *reference.plan)
                                    : session.first<trace::PlanRow>("ORDER BY id DESC LIMIT 1");
  const std::size_t count = first ? ranks_of(*first) : 0;
  const auto none = [&] {
    return Failure(
        fmt::format("--coordinate interleave: {} has no plans for several ranks", reference.session.string()),
        "make them: tferry analyze --ranks-share 2, with --budget or --oversubscribe");
  };
  if (count < 2) throw none();
  std::vector<PlanReference> plans;
  for (std::size_t r = 0; r < count; ++r) {
    PlanReference plan = reference;
    plan.plan = first->id - static_cast<std::int64_t>(r);
    const auto row = session.first<trace::PlanRow>("WHERE id = ?", *plan.plan);
    if (!row || row->name != rank_name(r, count)) throw none();
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace tferry::cli
