#include "cli/byte_size.hpp"
#include "cli/report/memory_profile.hpp"
#include "cli/report/render.hpp"
#include "cli/report/reports.hpp"
#include "cli/report/resource_text.hpp"

#include <optional>
#include <string>

namespace tferry::cli {
namespace {

constexpr double kHardlySlower = 1.01;
constexpr double kWorthTelling = 100e3;  // ns lost in all
constexpr double kMuchPageable = 0.05;   // of the bytes between host and GPU

std::string bytes(std::int64_t count) { return format_bytes(count); }
std::string duration(double ns) { return shown(Cell(ns), Unit::kNanoseconds); }
std::string percent(double share) { return std::to_string(static_cast<int>(share * 100 + 0.5)) + " %"; }

/// What follows from the session for whoever runs the job, most urgent first; every sentence rests on a
/// figure of another panel, and every piece of advice is a command or a place to look.
class Advice {
 public:
  explicit Advice(const Scope& scope) : scope_(scope), file_(scope.session().path()) {}

  Table make() {
    if (!scope_.session().meta("analysis.created"))
      add(KnownBy::kUnknown, "analysis", "iterations, tensors, bound and contention are unknown",
          "tferry analyze --oversubscribe 1.5 " + file_);
    complete();
    for (const MemoryProfile& profile : memory_profiles(scope_)) fits(profile);
    plans();
    runs();
    contention();
    pageable();
    proof();
    elsewhere();
    return std::move(table_);
  }

 private:
  void add(KnownBy known, const char* about, const std::string& finding, const std::string& what_to_do) {
    table_.add(known, {about, finding, what_to_do});
  }

  void complete() {
    const auto kinds = scope_.session().count<trace::LossRow>();
    if (kinds > 0)
      add(KnownBy::kMeasured, "recording",
          "kinds of things that are missing from it: " + std::to_string(kinds),
          "look into panel quality before believing a figure");
  }

  void fits(const MemoryProfile& profile) {
    const auto device = scope_.session().first<trace::DeviceRow>("WHERE id = ?", profile.device_id);
    if (!device || !device->memory_bytes || profile.peak_bytes == 0) return;
    const std::string gpu = "GPU " + scope_.gpu_name(profile.device_id);
    if (profile.peak_bytes > *device->memory_bytes)
      add(KnownBy::kMeasured, "memory",
          gpu + " needs " + bytes(profile.peak_bytes) + " of " + bytes(*device->memory_bytes),
          "tferry analyze --budget " + std::to_string(*device->memory_bytes * 9 / 10) + " " + file_ +
              ", then tferry run --plan " + file_ + " PROGRAM...");
    else
      add(KnownBy::kMeasured, "memory",
          gpu + " needs " + bytes(profile.peak_bytes) + " of " + bytes(*device->memory_bytes) + ": it fits",
          "nothing has to move; panel curve tells what a smaller budget costs");
  }

  /// Of each GPU the newest.
  void plans() {
    for (const auto& plan : scope_.session().rows<trace::PlanRow>(
             "WHERE id IN (SELECT max(id) FROM plan GROUP BY process_id, device_id) AND " +
             scope_.condition("process_id", "device_id", "") + " ORDER BY id")) {
      if (!plan.predicted_ns || plan.in_memory_ns.value_or(0) <= 0) continue;
      const double longer =
          static_cast<double>(*plan.predicted_ns) / static_cast<double>(*plan.in_memory_ns) - 1;
      const std::string under = "plan " + std::to_string(plan.id) + " of GPU " +
                                scope_.gpu_name(plan.device_id) + " (" + bytes(plan.budget_bytes) + ")";
      add(KnownBy::kSimulated, "swapping or not",
          under + " makes an iteration " + percent(longer) +
              " longer than in memory: " + duration(static_cast<double>(*plan.predicted_ns)) + others(plan),
          "swap: tferry run --plan " + file_ + ":" + std::to_string(plan.id) +
              " PROGRAM...; what is estimated is optimistic: try it, record it, and tferry compare the two");
      const auto limit = scope_.value<std::string>(
          "SELECT resource FROM bound WHERE device_id = " + std::to_string(plan.device_id.value_or(0)) +
          " ORDER BY id DESC LIMIT 1");
      if (limit && plan.bound_ns)
        add(KnownBy::kSimulated, "limit",
            "no plan for that budget is faster than " + duration(static_cast<double>(*plan.bound_ns)) +
                ": limited by " + resource_text(*limit),
            static_cast<double>(*plan.bound_ns) < kHardlySlower * static_cast<double>(*plan.in_memory_ns)
                ? "the budget can be smaller still: panel curve"
                : "a larger budget or a faster link helps, another plan hardly");
    }
  }

  /// What swapping competes with, estimated for the same budget: "; recompute (estimated): 197.42 ms".
  std::string others(const trace::PlanRow& plan) const {
    std::string text;
    for (const auto& row : scope_.session().rows<trace::SimulationRow>(
             "WHERE process_id IS ? AND device_id IS ? AND policy LIKE '%(estimated)' ORDER BY id",
             plan.process_id, plan.device_id)) {
      if (row.budget_bytes == plan.budget_bytes)
        text += "; " + row.policy + ": " + duration(static_cast<double>(row.predicted_ns));
    }
    return text;
  }

  /// Where a run took longer than its plan predicts.
  void runs() {
    for (const auto& run : scope_.session().rows<trace::RunRow>(
             "WHERE " + scope_.condition("process_id", "device_id", "") + " ORDER BY id")) {
      if (!run.iteration_ns || !run.predicted_ns || !run.wait_ns) continue;
      const auto took = static_cast<double>(*run.iteration_ns);
      if (took < kHardlySlower * static_cast<double>(*run.predicted_ns)) continue;
      add(KnownBy::kMeasured, "slower than predicted",
          "an iteration of GPU " + scope_.gpu_name(run.device_id) + " took " + duration(took) + ", not " +
              duration(static_cast<double>(*run.predicted_ns)) + "; the GPU waited " +
              duration(static_cast<double>(*run.wait_ns)) + " of it for memory",
          "panel late tells for which tensors; if the link is slower than the plan takes it for: tferry "
          "calibrate, then a new plan");
    }
  }

  void contention() {
    scope_.select(std::string("SELECT victim_device_id, culprit_device_id, resource, sum(lost_ns), "
                              "min(known_by) FROM contention "
                              "WHERE resource <> 'copy_engine_queue' AND ") +
                      scope_.condition("victim_process_id", "victim_device_id", "start_ns") +
                      " GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 3",
                  [&](trace::Statement& row) {
                    if (row.real(3) < kWorthTelling) return;
                    const std::string victim = "GPU " + scope_.gpu_name(row.integer(0));
                    const std::string resource = row.shown(2);
                    const bool gpu = !row.is_null(1);
                    std::string finding = victim + " lost " + duration(row.real(3)) + " in all";
                    if (gpu) finding += " to GPU " + scope_.gpu_name(row.integer(1));
                    finding += ", at " + contended_resource_text(resource);
                    add(known_by_of(row.shown(4)), "contention", finding, against(resource));
                  });
  }

  static std::string against(const std::string& resource) {
    if (resource == "link")
      return "use GPUs on links of their own, or let ranks take turns: tferry run --coordinate auto; panel "
             "matrix";
    if (resource == "copy_engine") return "let the program's copies of one direction follow each other";
    if (resource == "pageable") return "pin the memory (pin_memory=True, cudaHostAlloc)";
    if (resource == "collective")
      return "let NCCL go between the GPUs (NCCL_P2P_DISABLE unset, GPUs that reach each other)";
    if (resource == "other_process") return "find out who else uses the GPU or its link: tferry doctor";
    if (resource == "numa") return "bind the process to the node of its GPU: numactl --cpunodebind --membind";
    if (resource == "host_memory") return "bind each process to the memory next to its GPU: numactl";
    if (resource == "link_or_host_memory") return "tferry calibrate tells links from host memory";
    return "look at its windows in panel contention";
  }

  void pageable() {
    const std::string pageable =
        "((kind = 1 AND source_kind = 1) OR (kind = 2 AND destination_kind = 1)) AND owner <> 2";
    const auto all =
        scope_.value<double>("SELECT sum(bytes) FROM memcpy WHERE kind IN (1, 2) AND owner <> 2");
    const auto some = scope_.value<double>("SELECT sum(bytes) FROM memcpy WHERE " + pageable);
    const auto time = scope_.value<double>("SELECT sum(end_ns - start_ns) FROM memcpy WHERE " + pageable);
    if (!all || !some || !time || *some / *all < kMuchPageable || *time < kWorthTelling) return;
    add(KnownBy::kMeasured, "pageable copies",
        percent(*some / *all) +
            " of the bytes between host and GPU come from pageable memory, or go there: " +
            bytes(static_cast<std::int64_t>(*some)) + " in " + duration(*time),
        "pin it (pin_memory=True, cudaHostAlloc): such copies are staged by the driver");
  }

  void proof() {
    const auto runs = scope_.session().count<trace::RunRow>();
    if (runs == 0 && scope_.session().count<trace::PlanRow>() == 0) return;
    add(KnownBy::kUnknown, "same results", "a session does not hold the job's results",
        "run it with and without the plan, with deterministic kernels, and compare its losses; tferry "
        "compare --structure "
        "A B compares the operations");
  }

  void elsewhere() {
    if (scope_.session().count<trace::BoundRow>() == 0) return;
    add(KnownBy::kUnknown, "elsewhere", "more GPUs, and other links, are simulated",
        "tferry analyze --what-if gpus=8,link=gen4x16,shared=2,sync=4 " + file_);
  }

  const Scope& scope_;
  std::string file_;
  Table table_{"advice", "What follows from it", {{"about"}, {"finding"}, {"what_to_do"}}};
};

}  // namespace

std::vector<Table> report_advice(const Scope& scope) { return {Advice(scope).make()}; }

}  // namespace tferry::cli
