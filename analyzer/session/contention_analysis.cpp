#include "analyzer/session/contention_analysis.hpp"

#include "analyzer/session/read_transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tferry::analyzer {
namespace {

const char* name_of(SoloSource source) {
  switch (source) {
    case SoloSource::kMeasured:
      return "measured";
    case SoloSource::kLearned:
      return "learned";
    case SoloSource::kAssumed:
      return "assumed";
    case SoloSource::kUnknown:
      break;
  }
  return "unknown";
}

const char* name_of(Way way) { return way == Way::kIn ? "h2d" : way == Way::kOut ? "d2h" : "peer"; }

void tell_unknown(ContentionAnalysis& analysis, const RecordedTraffic& recorded) {
  std::int64_t transfers = 0, bytes = 0, large = 0;
  for (std::size_t i = 0; i < analysis.transfers.size(); ++i) {
    if (analysis.solo[i].ns) continue;
    ++transfers;
    bytes += analysis.transfers[i].bytes;
    large += analysis.transfers[i].bytes >= kLeastBytesForRate && analysis.transfers[i].way != Way::kPeer;
  }
  if (transfers > 0) {
    std::string line = fmt::format(
        "{} of {} transfers ({} bytes) have no solo baseline: too few of their "
        "kind ran alone",
        transfers, analysis.transfers.size(), bytes);
    if (large > 0) line += "; give one: tferry analyze --assume-solo h2d=55.3GB/s,d2h=55.3GB/s";
    analysis.unknown.push_back(line);
  }
  if (recorded.untimed > 0) {
    analysis.unknown.push_back(fmt::format(
        "{} copies have no times and are left out; profile with CUPTI (tferry doctor)", recorded.untimed));
  }
  std::map<std::int64_t, bool> devices;
  for (const HostTransfer& transfer : recorded.transfers) devices[transfer.device] = true;
  if (devices.size() > 1 && recorded.paths.empty()) {
    analysis.unknown.emplace_back(
        "the tree of PCIe links was not recorded, so a shared link and host memory cannot be "
        "told apart; "
        "profile the job again with this tferry");
  }
  if (recorded.counters.empty() && !recorded.transfers.empty()) {
    analysis.unknown.emplace_back(
        "no PCIe counters were sampled, so traffic that nobody recorded cannot be seen; tferry "
        "doctor "
        "says why");
  }
}

}  // namespace

ContentionAnalysis analyze_contention(trace::Session& session, const SoloRates& assumed) {
  RecordedTraffic recorded = read_transfers(session);
  ContentionAnalysis analysis;
  analysis.transfers = recorded.transfers;
  analysis.sources = recorded.sources;
  analysis.paths = recorded.paths;
  analysis.solo = solo_times(analysis.transfers, assumed, recorded.calibrated);
  const TrafficCheck traffic = check_traffic(analysis.transfers, recorded.counters, recorded.collectives);
  analysis.lost = lost_time(analysis.transfers, analysis.solo, analysis.paths, traffic.foreign_bytes,
                            traffic.collective_bytes);
  for (const HostTransfer& transfer : analysis.transfers) {
    const auto hidden = overlap(recorded.computing[transfer.device], transfer.start_ns, transfer.end_ns);
    analysis.exposed_ns.push_back(transfer.duration_ns() - static_cast<double>(hidden));
  }
  analysis.windows = contention_windows(analysis.transfers, analysis.solo, analysis.lost.losses);
  analysis.waits = queue_waits(analysis.transfers);
  tell_unknown(analysis, recorded);
  return analysis;
}

namespace {

class Store {
 public:
  Store(trace::SessionWriter& writer, const ContentionAnalysis& analysis)
      : writer_(writer), analysis_(analysis) {
    trace::Statement rows(writer.database(),
                          "SELECT process_id, start_ns, end_ns, id FROM iteration ORDER BY 1, 2");
    while (rows.step()) {
      iterations_[rows.integer(0)].push_back({rows.integer(1), rows.integer(2), rows.integer(3)});
    }
    trace::Statement links(writer.database(),
                           "SELECT device_id, id FROM link WHERE kind = 'pcie' AND device_id > 0");
    while (links.step()) links_[links.integer(0)] = links.integer(1);
  }

  void store() {
    writer_.clear<trace::ContentionRow>();
    writer_.clear<trace::TransferRow>();
    for (std::size_t i = 0; i < analysis_.transfers.size(); ++i) store_transfer(i);
    for (const ContentionWindow& window : analysis_.windows) store_window(window);
    for (const QueueWait& wait : analysis_.waits) store_wait(wait);
  }

 private:
  struct Span {
    std::int64_t begin_ns, end_ns, id;
  };

  std::optional<std::int64_t> iteration(std::int64_t process, std::int64_t time_ns) const {
    const auto found = iterations_.find(process);
    if (found == iterations_.end()) return std::nullopt;
    auto at = std::upper_bound(found->second.begin(), found->second.end(), time_ns,
                               [](std::int64_t time, const Span& span) { return time < span.begin_ns; });
    if (at == found->second.begin() || (--at)->end_ns < time_ns) return std::nullopt;
    return at->id;
  }

  void store_transfer(std::size_t i) {
    const HostTransfer& transfer = analysis_.transfers[i];
    const TransferSource& source = analysis_.sources[i];
    trace::TransferRow row;
    row.process_id = transfer.process;
    row.device_id = transfer.device;
    if (const auto link = links_.find(transfer.device); link != links_.end() && transfer.way != Way::kPeer)
      row.link_id = link->second;
    row.iteration_id = iteration(transfer.process, transfer.start_ns);
    row.source = source.of_runtime ? "swap" : source.memcpy_id ? "memcpy" : "um_event";
    row.memcpy_id = source.memcpy_id;
    row.direction = name_of(transfer.way);
    row.start_ns = transfer.start_ns;
    row.end_ns = transfer.end_ns;
    row.bytes = transfer.bytes;
    row.solo_ns = analysis_.solo[i].ns;
    row.solo_known_by = name_of(analysis_.solo[i].source);
    row.lost_ns = analysis_.lost.lost_ns[i];
    row.exposed_ns = analysis_.exposed_ns[i];
    writer_.insert(row);
  }

  void store_window(const ContentionWindow& window) {
    for (const WindowLoss& loss : window.losses) {
      trace::ContentionRow row;
      row.iteration_id = iteration(loss.victim_process, window.begin_ns);
      row.link_id = loss.link;
      row.resource = cause_name(loss.cause);
      row.victim_process_id = loss.victim_process;
      row.victim_device_id = loss.victim_device;
      row.culprit_process_id = loss.culprit_process;
      row.culprit_device_id = loss.culprit_device;
      if (!loss.culprit_device)
        row.culprit = loss.cause == Cause::kOtherProcess ? "nobody recorded"
                      : loss.cause == Cause::kCollective ? "a collective through host memory"
                                                         : "nobody known";
      row.start_ns = window.begin_ns;
      row.end_ns = window.end_ns;
      row.lost_ns = loss.lost_ns;
      row.known_by = name_of(loss.known_by);
      writer_.insert(row);
    }
  }

  void store_wait(const QueueWait& wait) {
    const HostTransfer& victim = analysis_.transfers[wait.transfer];
    trace::ContentionRow row;
    row.iteration_id = iteration(victim.process, wait.begin_ns);
    row.resource = "copy_engine_queue";
    row.victim_process_id = victim.process;
    row.victim_device_id = row.culprit_device_id = victim.device;
    row.start_ns = wait.begin_ns;
    row.end_ns = wait.end_ns;
    row.lost_ns = wait.waited_ns;
    row.known_by = "measured";
    writer_.insert(row);
  }

  trace::SessionWriter& writer_;
  const ContentionAnalysis& analysis_;
  std::map<std::int64_t, std::vector<Span>> iterations_;  ///< by process
  std::map<std::int64_t, std::int64_t> links_;            ///< by device: the edge that ends there
};

}  // namespace

void store_contention(trace::SessionWriter& writer, const ContentionAnalysis& analysis) {
  Store(writer, analysis).store();
}

}  // namespace tferry::analyzer
