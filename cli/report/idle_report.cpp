#include "analyzer/contention/idle.hpp"
#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <map>

namespace tferry::cli {
namespace {

using analyzer::Interval;

struct Gpu {
  std::vector<analyzer::KernelRun> kernels;
  std::vector<Interval> transfers;
};

std::map<std::int64_t, Gpu> read_gpus(const Scope& scope) {
  std::map<std::int64_t, Gpu> gpus;
  for (const auto& row : scope.session().rows<trace::KernelRow>(
           "WHERE device_id > 0 AND end_ns > start_ns AND " +
           scope.condition("process_id", "device_id", "start_ns") + " ORDER BY start_ns")) {
    const bool collective = scope.session().string(row.name_id).find("nccl") != std::string::npos;
    gpus[*row.device_id].kernels.push_back({*row.start_ns, *row.end_ns, row.call_ns, collective});
  }
  for (const auto& row :
       scope.session().rows<trace::MemcpyRow>("WHERE device_id > 0 AND end_ns > start_ns")) {
    gpus[*row.device_id].transfers.push_back({*row.start_ns, *row.end_ns});
  }
  return gpus;
}

}  // namespace

std::vector<Table> report_idle(const Scope& scope) {
  Table table("idle", "What each GPU did from its first kernel to its last",
              {{"gpu"}, {"what"}, {"time", Unit::kNanoseconds}, {"share", Unit::kShare}, {"meaning"}});
  std::vector<Interval> blocked;
  for (const auto& row : scope.session().rows<trace::SyncRow>("WHERE end_ns > start_ns")) {
    if (row.kind != trace::SyncKind::kStreamWaitEvent) blocked.push_back({row.start_ns, *row.end_ns});
  }
  blocked = analyzer::united(std::move(blocked));
  for (auto& [device, gpu] : read_gpus(scope)) {
    const analyzer::IdleTimes times =
        analyzer::idle_times(std::move(gpu.kernels), analyzer::united(std::move(gpu.transfers)), blocked);
    if (times.span == 0) continue;
    const auto add = [&, id = device](const char* what, std::int64_t time, const char* meaning) {
      if (time == 0) return;
      const double share = static_cast<double>(time) / static_cast<double>(times.span);
      table.add(KnownBy::kMeasured, {scope.gpu_name(id), what, time, share, meaning});
    };
    add("computing", times.busy, "a kernel ran");
    add("collective", times.collective, "only a kernel of a communication library ran");
    add("transfer", times.transfer, "a copy ran and no kernel");
    add("blocked", times.blocked, "nothing was launched: the program waited in a synchronisation");
    add("launching", times.launch, "the next kernel was on its way, or being called");
    add("no work", times.no_work, "nothing was launched for over 0.1 ms");
    add("unknown", times.unknown, "the next launch was not recorded");
    if (times.unknown > 0) {
      table.notes.push_back(fmt::format(
          "unknown: why GPU {} idled, where launches were not recorded; profile without --no-preload",
          scope.gpu_name(device)));
    }
  }
  if (table.rows.empty()) table.notes.emplace_back("unknown: no kernel has times; see tferry report quality");
  return {table};
}

}  // namespace tferry::cli
