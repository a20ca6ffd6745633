#include "cli/session/build_session.hpp"

#include "cli/session/file_size_signal.hpp"
#include "cli/session/name_allocations.hpp"
#include "cli/session/store_links.hpp"
#include "trace/recording.hpp"
#include "trace/session.hpp"
#include "trace/session_writer.hpp"
#include "trace/sqlite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
using trace::LossRow;

bool is_of(const std::string& spool, std::string_view source) {
  return fs::path(spool).filename().string().find(fmt::format(".{}.", source)) != std::string::npos;
}

bool any_of(const std::vector<std::string>& spools, std::string_view source) {
  return std::any_of(spools.begin(), spools.end(),
                     [source](const auto& spool) { return is_of(spool, source); });
}

bool any_collector(const std::vector<HostSpools>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const HostSpools& host) { return any_of(host.spools, "collector"); });
}

std::string why_no_activity(const std::vector<ProcessSnapshot>& processes, bool hooks) {
  const auto any = [&processes](trace::JobStage stage) {
    return std::any_of(processes.begin(), processes.end(),
                       [stage](const auto& p) { return p.reached(stage); });
  };
  const bool loaded = std::any_of(processes.begin(), processes.end(),
                                  [](const auto& process) { return process.driver_loaded.value_or(0) == 1; });
  if (hooks && !processes.empty() && !loaded && !any(trace::JobStage::kDriverFound)) {
    return "no process opened the CUDA driver, so nothing was injected; if the job should have used a GPU, "
           "see "
           "tferry doctor";
  }
  return "the injected collector never reported in: libcupti.so.13 could not be loaded there (set CUDA_HOME "
         "or add its "
         "folder to LD_LIBRARY_PATH), the driver does not inject (a driver other than NVIDIA's, a "
         "set-user-id program), "
         "or the program never initialised CUDA";
}

void add(trace::IngestReport& sum, const trace::IngestReport& part) {
  sum.spools += part.spools;
  sum.unreadable_spools += part.unreadable_spools;
  sum.processes += part.processes;
  sum.records += part.records;
  sum.kernels += part.kernels;
  sum.kernel_calls += part.kernel_calls;
  sum.allocations += part.allocations;
  sum.bad_times += part.bad_times;
  sum.join.calls += part.join.calls;
  sum.join.records += part.join.records;
  sum.join.matched_calls += part.join.matched_calls;
  sum.join.matched_records += part.join.matched_records;
  sum.join.resynchronisations += part.join.resynchronisations;
}

std::int64_t last_id(trace::SessionWriter& writer, const char* table) {
  return writer.database().integer(fmt::format("SELECT coalesce(max(id), 0) FROM {}", table));
}

/// Adds the hosts one after the other, each with the first one's clock.
void add_hosts(trace::SessionWriter& writer, const std::vector<HostSpools>& hosts, BuiltSession& built) {
  std::optional<std::int64_t> first_offset;
  for (const HostSpools& host : hosts) {
    const std::int64_t processes = last_id(writer, "process"), devices = last_id(writer, "device");
    const trace::Recording recording = trace::Recording::read(host.spools);
    add(built.report, trace::ingest(recording, writer));
    if (host.facts) {
      store_links(writer, *host.facts, devices);
      if (host.facts->clock_error_ns) {
        writer.execute(fmt::format("UPDATE process SET clock_error_ns = {} WHERE id > {}",
                                   *host.facts->clock_error_ns, processes));
      }
    }
    const std::int64_t offset = realtime_offset(recording);
    if (first_offset) shift_times(writer, processes, devices, offset - *first_offset);
    if (!first_offset) first_offset = offset;
  }
}

void store_budgets(trace::SessionWriter& writer, const std::vector<ProcessSnapshot>& processes) {
  for (const ProcessSnapshot& process : processes) {
    for (const DeviceSnapshot& device : process.devices) {
      const bool limited = device.budget_source != static_cast<std::int64_t>(trace::BudgetSource::kUnlimited);
      if (!limited || device.budget.value_or(0) <= 0) continue;
      writer.execute(
          fmt::format("UPDATE device SET budget_bytes = {} WHERE id IN (SELECT device_id FROM process_device "
                      "JOIN process ON process.id = process_id WHERE pid = {} AND ordinal = {})",
                      *device.budget, process.pid, device.device));
    }
  }
}

/// Where the access pass by pages saw nothing, nothing is known, which is not the same as nothing touched.
void tell_pages(trace::SessionWriter& writer, const PageAccesses& pages, bool asked) {
  if (pages.launches == 0 && !asked) return;
  for (const auto& [key, count] : {std::pair{"launches", pages.launches},
                                   {"touched", pages.touched},
                                   {"hidden", pages.hidden},
                                   {"untouched", pages.untouched},
                                   {"undirected", pages.undirected},
                                   {"events", pages.events},
                                   {"shared_events", pages.shared},
                                   {"outside_events", pages.outside}}) {
    writer.set_meta(fmt::format("access_pages.{}", key), std::to_string(count));
  }
  if (pages.launches > 0 && pages.events > 0) return;
  writer.insert(
      LossRow{.what = "access",
              .reason = "unsupported",
              .detail = pages.launches == 0
                            ? std::string("access pages: no launch was watched; the job said why")
                            : fmt::format("access pages: {} launches were watched, and no record of "
                                          "unified memory fell into one: what they touched is unknown",
                                          pages.launches)});
}

}  // namespace

std::vector<std::string> find_spools(const fs::path& folder) {
  std::vector<std::string> spools;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with("spool.") && name.find(".new.") == std::string::npos &&
        entry->is_regular_file(ignored)) {
      spools.push_back(entry->path().string());
    }
  }
  std::sort(spools.begin(), spools.end());
  return spools;
}

BuiltSession build_session(const std::vector<HostSpools>& hosts, const fs::path& path, bool force,
                           const SessionExtras& extras) {
  const FileSizeSignalIgnored no_signal;
  BuiltSession built;
  built.path = path;
  built.alignment_error_ns = alignment_error(hosts);
  trace::SessionWriter writer =
      trace::SessionWriter::create(path.string(), {.force = force, .build_directory = {}});
  add_hosts(writer, hosts, built);
  trace::set_totals(writer, built.report);
  if (hosts.size() > 1) {
    writer.set_meta("hosts", std::to_string(hosts.size()));
    writer.set_meta("alignment_error_ns", std::to_string(built.alignment_error_ns));
  }
  if (extras.name_by_nvtx) name_allocations_by_nvtx(writer);
  built.pages = find_page_accesses(writer);
  tell_pages(writer, built.pages, extras.access_pages);
  for (const auto& [key, value] : extras.meta) writer.set_meta(key, value);
  for (const LossRow& loss : extras.missing) writer.insert(loss);
  store_budgets(writer, extras.processes);
  if (built.report.kernels == 0 && built.report.kernel_calls > 0 && any_collector(hosts)) {
    writer.insert(LossRow{
        .what = "kernel",
        .reason = "unsupported",
        .count = built.report.kernel_calls,
        .detail = fmt::format("{} launches were seen, but CUPTI delivered no kernel: another tool may "
                              "have claimed it, or its version does not fit the driver's",
                              built.report.kernel_calls)});
  }
  built.bytes = writer.publish();
  return built;
}

std::vector<LossRow> find_gaps(const std::vector<std::string>& spools, const RecordingExpectation& expected,
                               const std::vector<ProcessSnapshot>& processes) {
  std::vector<LossRow> gaps;
  if (!any_of(spools, "collector")) {
    for (const std::string& problem : expected.collector_problems) {
      gaps.push_back({.what = "kernel", .reason = "unsupported", .detail = problem});
    }
    if (gaps.empty()) {
      gaps.push_back({.what = "kernel",
                      .reason = "unsupported",
                      .detail = "GPU activity: " + why_no_activity(processes, expected.hooks)});
    }
  }
  if (!expected.hooks) {
    gaps.push_back(
        {.what = "kernel_launch",
         .reason = "unsupported",
         .detail = "allocations, launches and their arguments: not recorded, as --no-preload asked for"});
  } else if (!any_of(spools, "runtime")) {
    gaps.push_back(
        {.what = "kernel_launch",
         .reason = "unsupported",
         .detail =
             processes.empty()
                 ? "allocations, launches and their arguments: the preloaded runtime reported from no "
                   "process; the program may be statically linked, set-user-id, or clear LD_PRELOAD"
                 : "allocations, launches and their arguments: no process called the CUDA driver through "
                   "the hooks"});
  }
  if (expected.counters && !any_of(spools, "sampler")) {
    gaps.push_back({.what = "counter",
                    .reason = "unsupported",
                    .detail = "hardware counters: " + (expected.counters_problem.empty()
                                                           ? std::string("the sampler left no spool")
                                                           : expected.counters_problem)});
  } else if (!expected.counters) {
    gaps.push_back({.what = "counter",
                    .reason = "unsupported",
                    .detail = "hardware counters: not sampled, as --counters off asked for"});
  }
  return gaps;
}

std::vector<std::string> describe_losses(const fs::path& path, std::size_t limit) {
  trace::Session session = trace::Session::open(path.string());
  // One cause may have cost records of many kinds: it is told once.
  std::vector<std::pair<std::string, std::string>> causes;  // with what it cost
  for (const LossRow& loss : session.rows<LossRow>("ORDER BY detail IS NULL, count DESC")) {
    const std::string cause = loss.detail.value_or(loss.reason);
    auto place = std::find_if(causes.begin(), causes.end(), [&](const auto& c) { return c.first == cause; });
    if (place == causes.end()) place = causes.insert(causes.end(), {cause, ""});
    if (!loss.count && loss.detail) continue;
    const std::string cost = loss.count ? fmt::format("{} {}", *loss.count, loss.what)
                                        : fmt::format("{} (unknown number)", loss.what);
    place->second += (place->second.empty() ? "" : ", ") + cost;
  }
  std::vector<std::string> lines;
  for (const auto& [cause, cost] : causes) {
    if (lines.size() == limit) {
      lines.push_back(fmt::format("{} more: tferry report quality {}", causes.size() - limit, path.string()));
      break;
    }
    lines.push_back(cost.empty() ? cause : fmt::format("{}: {}", cause, cost));
  }
  return lines;
}

}  // namespace tferry::cli
