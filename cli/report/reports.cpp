#include "cli/report/reports.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace tferry::cli {

const std::vector<ReportKind>& report_kinds() {
  static const std::vector<ReportKind> kinds = {
      {"summary", "the job, its GPUs, times, memory, and what the analysis found", report_summary},
      {"kernels", "time by kernel", report_kernels},
      {"transfers", "copies by direction, and what the runtime moved", report_transfers},
      {"memory", "live bytes, their peak, and what is alive at it", report_memory},
      {"tensors", "allocations that recur in every iteration", report_tensors},
      {"contention", "time that transfers lost, to whose transfers, and when", report_contention},
      {"causes", "why transfers were slower than alone, or late", report_causes},
      {"links", "use of the links, and transfers that kernels hid", report_links},
      {"idle", "what each GPU did while it did not compute", report_idle},
      {"launch", "time from the launch to the start of kernels", report_launch},
      {"quality", "everything that is missing from the recording", report_quality},
      {"analysis", "iterations, bound and simulated policies", report_analysis},
      {"plan", "plans, and what moves under the newest", report_plan},
      {"advice", "what follows from all of it", report_advice},
  };
  return kinds;
}

const ReportKind& find_report(const std::string& name) {
  std::string names;
  for (const ReportKind& kind : report_kinds()) {
    if (name == kind.name) return kind;
    names += std::string(names.empty() ? "" : " ") + kind.name;
  }
  throw Failure(fmt::format("there is no report {}", name), "the reports are: " + names);
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text && status == 0 ? std::string(text.get()) : name;
}

}  // namespace tferry::cli
