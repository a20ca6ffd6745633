#include "cli/plan/watched_run.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/contention_analysis.hpp"
#include "cli/session/build_session.hpp"
#include "cli/session/store_analysis.hpp"
#include "trace/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

using Operations = std::vector<analyzer::RecordedOperation>;

/// From its first operation's start to the next one's, or to its own last one's end.
std::optional<std::int64_t> duration(const Operations& operations, const analyzer::IterationSpan& span) {
  const auto from = operations[span.begin].start_ns;
  const bool followed = span.end < operations.size();
  const auto to = followed ? operations[span.end].start_ns : operations[span.end - 1].end_ns;
  return from && to && *to > *from ? std::optional(*to - *from) : std::nullopt;
}

void measure(trace::Session& session, const analyzer::RankAnalysis& rank, WatchedRun::Figures& figures) {
  const Operations& operations = rank.source.recording.operations;
  std::vector<std::int64_t> lasted;
  std::int64_t waited = 0;
  for (const analyzer::IterationSpan& span : rank.iterations->spans) {
    if (const auto ns = duration(operations, span)) lasted.push_back(*ns);
    for (const auto& gate : session.rows<trace::GateRow>("WHERE process_id = ? AND operation BETWEEN ? AND ?",
                                                         figures.process_id, operations[span.begin].number,
                                                         operations[span.end - 1].number)) {
      waited += gate.end_ns - gate.start_ns;
    }
  }
  figures.from_ns = operations.front().start_ns.value_or(operations.front().call_ns);
  figures.to_ns = operations.back().end_ns.value_or(operations.back().call_ns);
  figures.iterations = static_cast<std::int64_t>(rank.iterations->count());
  if (rank.typical->untimed_operations == 0) {
    double alone = 0;
    for (const analyzer::Operation& operation : rank.typical->workload.operations)
      alone += static_cast<double>(operation.duration_ns + operation.gap_ns);
    figures.in_memory_ns = static_cast<std::int64_t>(alone);
  }
  if (lasted.empty()) return;
  const auto middle = lasted.begin() + static_cast<std::ptrdiff_t>(lasted.size() / 2);
  std::nth_element(lasted.begin(), middle, lasted.end());
  figures.iteration_ns = *middle;
  figures.wait_ns = waited / figures.iterations;
}

std::optional<WatchedRun::Figures> rows_of(trace::Session& session, const WatchedRun::Gpu& gpu,
                                           std::size_t plans) {
  const auto process = session.first<trace::ProcessRow>("WHERE pid = ?", gpu.pid);
  if (!process) return std::nullopt;
  const auto device = session.first<trace::ProcessDeviceRow>("WHERE process_id = ? AND ordinal = ?",
                                                             process->id, gpu.ordinal);
  if (!device) return std::nullopt;
  WatchedRun::Figures figures;
  figures.process_id = process->id;
  figures.device_id = device->device_id;
  figures.plan = static_cast<std::size_t>(std::max<std::int64_t>(0, process->local_rank.value_or(0))) % plans;
  return figures;
}

}  // namespace

WatchedRun::WatchedRun(const std::vector<std::string>& spools, const fs::path& session,
                       const std::vector<ProcessSnapshot>& processes)
    : path_(session.string() + fmt::format(".watched.{}", ::getpid())) {
  SessionExtras extras;
  extras.processes = processes;
  build_session({{.spools = spools, .facts = read_host_facts()}}, path_, true, extras);
}

WatchedRun::~WatchedRun() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::vector<std::optional<WatchedRun::Figures>> WatchedRun::analyze(
    std::span<const Gpu> gpus, std::span<const analyzer::StoredPlan* const> plans) {
  std::vector<std::optional<Figures>> all(gpus.size());
  std::vector<analyzer::RankAnalysis> ranks;
  analyzer::ContentionAnalysis contention;
  {
    trace::Session session = trace::Session::open(path_.string());
    std::vector<analyzer::SessionRecording> recordings = analyzer::read_recordings(session);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      all[i] = rows_of(session, gpus[i], plans.size());
      if (!all[i]) continue;
      const auto found = std::find_if(recordings.begin(), recordings.end(), [&](const auto& recording) {
        return recording.process_id == all[i]->process_id && recording.device_id == all[i]->device_id;
      });
      if (found == recordings.end()) {
        all[i].reset();
        continue;
      }
      const analyzer::StoredPlan& plan = *plans[all[i]->plan];
      analyzer::RankAnalysis& rank = ranks.emplace_back();
      rank.source = std::move(*found);
      recordings.erase(found);
      rank.budget_bytes = plan.row.budget_bytes;
      if (analyzer::find_planned(rank, plan.rank, plan.placed.rules)) {
        measure(session, rank, *all[i]);
      } else {
        rank.unknown.emplace_back("iterations: none of those that were watched was as the plan has it");
      }
    }
    if (!ranks.empty()) contention = analyzer::analyze_contention(session, {});
  }
  if (!ranks.empty()) store_analysis(ranks, &contention, path_, path_, true);
  return all;
}

}  // namespace tferry::cli
