#include "cli/report/what_if_tables.hpp"

#include "analyzer/bound/rank_bound.hpp"
#include "analyzer/planner/budget_curve.hpp"
#include "analyzer/planner/explain.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "cli/failure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace tferry::cli {
namespace {

constexpr const char* kExample = "gpus=8,link=gen4x16,shared=2,sync=4";
constexpr int kCurveRounds = 60;
constexpr double kHardlySlower = 1.05;
constexpr std::size_t kMostGpus = 64;

std::size_t parse_count(std::string_view text, std::string_view key, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > most) {
    throw Failure(fmt::format("--what-if: {}={} is no number from 1 to {}", key, text, most),
                  fmt::format("write {}", kExample));
  }
  return value;
}

/// Rates that pinned copies reach: 55 GB/s on PCIe 5 x16 (measured), by generation and lanes in proportion.
analyzer::LinkRates parse_pcie(std::string_view text) {
  const analyzer::LinkRates fifth;
  const bool formed =
      text.size() > 5 && text.starts_with("gen") && text[3] >= '1' && text[3] <= '6' && text[4] == 'x';
  if (!formed) throw Failure(fmt::format("--what-if: link={} is not known", text), "write link=gen4x16");
  const std::size_t lanes = parse_count(text.substr(5), "lanes", 16);
  double share = static_cast<double>(lanes) / 16;
  for (char generation = '5'; generation > text[3]; --generation) share /= 2;
  if (text[3] == '6') share *= 2;
  return {fifth.in * share, fifth.out * share, fifth.duplex_in * share, fifth.duplex_out * share};
}

bool has_workload(const analyzer::RankAnalysis& rank) { return rank.bound && rank.typical; }

}  // namespace

WhatIf parse_what_if(std::string_view text) {
  WhatIf what_if;
  std::optional<std::size_t> shared;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals),
                           value = part.substr(std::min(equals + 1, part.size()));
    if (key == "gpus")
      what_if.layout.gpus = parse_count(value, key, kMostGpus);
    else if (key == "shared")
      shared = parse_count(value, key, kMostGpus);
    else if (key == "sync")
      what_if.layout.iterations_per_round = parse_count(value, key, 1000);
    else if (key == "link")
      what_if.link = parse_pcie(value);
    else
      throw Failure(fmt::format("--what-if: {} is not understood", part), fmt::format("write {}", kExample));
  }
  what_if.layout.gpus_per_link = std::min(shared.value_or(what_if.layout.gpus), what_if.layout.gpus);
  return what_if;
}

Table curve_table(std::span<const analyzer::RankAnalysis> ranks) {
  Table table("curve", "An iteration by budget",
              {{"process", Unit::kNone},
               {"footprint_over_budget"},
               {"budget", Unit::kBytes},
               {"bound", Unit::kNanoseconds},
               {"lms", Unit::kNanoseconds},
               {"lookahead", Unit::kNanoseconds},
               {"point"}});
  for (const analyzer::RankAnalysis& rank : ranks) {
    if (!has_workload(rank)) continue;
    const auto points = analyzer::budget_curve(rank.typical->workload, kCurveRounds);
    const std::optional<std::size_t> knee = analyzer::knee(points);
    const analyzer::CurvePoint* smallest = nullptr;
    for (const analyzer::CurvePoint& point : points) {
      if (point.planned_ns <= kHardlySlower * points.front().planned_ns) smallest = &point;
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const analyzer::CurvePoint& point = points[i];
      const bool bends = knee && *knee == i, within = smallest == &point;
      table.add(KnownBy::kSimulated,
                {rank.source.process_id, fmt::format("{:.2f}", point.oversubscription),
                 point.budget + rank.typical->resident_bytes, point.bound_ns, point.lms_ns, point.planned_ns,
                 bends && within ? "knee, smallest within 5 %"
                 : bends         ? "knee"
                 : within        ? "smallest within 5 %"
                                 : "-"});
    }
    if (knee) {
      const analyzer::CurvePoint& point = points[*knee];
      table.notes.push_back(
          fmt::format("knee: {} bytes ({:.2f} times); from there down, memory taken away costs more time "
                      "than on average over "
                      "the curve",
                      point.budget + rank.typical->resident_bytes, point.oversubscription));
    } else if (!points.empty()) {
      table.notes.emplace_back("knee: none; the curve is flat, straight, or has too few points");
    }
    if (smallest != nullptr) {
      table.notes.push_back(fmt::format("down to {} bytes ({:.2f} times) an iteration is at most 5 % longer",
                                        smallest->budget + rank.typical->resident_bytes,
                                        smallest->oversubscription));
    }
  }
  if (table.rows.empty()) table.notes.emplace_back("unknown: no bound; see the notes above");
  return table;
}

/// The tensor of that name, or the only one whose name contains the text; all of these go to `like`.
std::optional<std::uint32_t> find_tensor(const analyzer::Workload& workload, const std::string& text,
                                         std::vector<std::string>& like) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
    const std::string& name = workload.tensors[t].name;
    if (name == text) return t;
    if (name.find(text) == std::string::npos) continue;
    like.push_back(name);
    found = t;
  }
  return like.size() == 1 ? found : std::nullopt;
}

Table explain_table(std::span<const analyzer::RankAnalysis> ranks, const std::string& tensor) {
  Table table("explain", "What the plan does with " + tensor,
              {{"after_operation", Unit::kCount},
               {"to", Unit::kCount},
               {"lasts", Unit::kNanoseconds},
               {"moves_in", Unit::kNanoseconds},
               {"leaves", Unit::kBytes},
               {"too_much_then", Unit::kBytes},
               {"otherwise", Unit::kNanoseconds},
               {"why"}});
  bool planned = false;
  std::vector<std::string> like;
  for (const analyzer::RankAnalysis& rank : ranks) {
    if (!rank.placed) continue;
    planned = true;
    const analyzer::Workload& workload = rank.placed->workload.workload;
    like.clear();
    const std::optional<std::uint32_t> found = find_tensor(workload, tensor, like);
    if (!found) continue;
    table.title = "What the plan does with " + workload.tensors[*found].name;
    for (const auto& gap : analyzer::explain_tensor(workload, rank.placed->plan, *found, {})) {
      const char* why = !gap.needed ? "its contents are dead meanwhile"
                        : gap.parked > 0 && gap.last
                            ? "it leaves, and is freed while away; otherwise: the iteration if it stayed"
                        : gap.parked > 0 ? "it leaves; otherwise: the iteration if it stayed"
                        : gap.most_excess <= 0
                            ? "everything fits while it is not used"
                            : "others are better; otherwise: the iteration if it left, too";
      table.add(KnownBy::kSimulated, {std::int64_t{gap.after}, std::int64_t{gap.before}, gap.lasts_ns,
                                      gap.moves_ns, gap.parked, std::max<std::int64_t>(0, gap.most_excess),
                                      gap.needed ? Cell(gap.otherwise_ns) : Cell("-"), why});
    }
    if (table.rows.empty())
      table.notes.emplace_back("every operation uses it, or it has no next use: it cannot leave");
    return table;
  }
  if (!planned)
    throw Failure("--explain: there is no plan to explain",
                  "give --budget or --oversubscribe, without --no-plan");
  if (!like.empty()) {
    constexpr std::size_t kShown = 10;
    const std::span shown(like.data(), std::min(like.size(), kShown));
    throw Failure(
        fmt::format("--explain: the plan knows {} tensors like {}", like.size(), tensor),
        fmt::format("name one of them: {}{}", fmt::join(shown, ", "), like.size() > kShown ? ", ..." : ""));
  }
  throw Failure(fmt::format("--explain: the plan knows no tensor {}", tensor),
                "tferry report tensors lists the names; what cannot move is in no plan");
}

Table what_if_table(std::span<const analyzer::RankAnalysis> ranks, const WhatIf& what_if) {
  Table table(
      "what_if",
      fmt::format("An iteration on {} GPUs, {} on a link, synchronising every {}", what_if.layout.gpus,
                  what_if.layout.gpus_per_link, what_if.layout.iterations_per_round),
      {{"how_the_link_is_shared"}, {"time", Unit::kNanoseconds}, {"over_bound"}});
  for (const analyzer::RankAnalysis& rank : ranks) {
    if (!has_workload(rank)) continue;
    analyzer::Workload workload = rank.typical->workload;
    if (what_if.link) workload.link = *what_if.link;
    const std::vector<const analyzer::Workload*> together(what_if.layout.gpus_per_link, &workload);
    const double bound =
        analyzer::rank_bound(together, workload.link, what_if.layout.iterations_per_round).time_ns;
    analyzer::LookaheadOptions options;
    options.rounds = kCurveRounds;
    const analyzer::Plan plan = analyzer::plan_lookahead(workload, options);
    options.avoid = &plan;
    const analyzer::Plan other = analyzer::plan_lookahead(workload, options);
    const auto add = [&](const std::string& what, double time) {
      table.add(KnownBy::kSimulated, {what, time, fmt::format("{:.2f}", time / bound)});
    };
    add("bound: nothing is faster", bound);
    add("lms, fair",
        analyzer::coordinated_lms_time(workload, what_if.layout, analyzer::Coordination::kFair, {}));
    for (const analyzer::Coordination mode : analyzer::all_coordinations()) {
      add("lookahead, " + analyzer::coordination_name(mode),
          analyzer::coordinated_time(workload, plan, other, what_if.layout, mode, {}));
    }
    table.notes.emplace_back("all ranks are taken to do what this one does, on links that nobody else uses");
    return table;
  }
  table.notes.emplace_back("unknown: no bound; give --budget or --oversubscribe");
  return table;
}

}  // namespace tferry::cli
