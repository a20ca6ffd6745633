#include "analyzer/session/read_transfers.hpp"

#include "analyzer/tensors/recording.hpp"

#include <algorithm>
#include <set>

namespace tferry::analyzer {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

HostMemory host_memory(MemoryKind kind) {
  if (kind == MemoryKind::kPageable) return HostMemory::kPageable;
  if (kind == MemoryKind::kPinned) return HostMemory::kPinned;
  return kind == MemoryKind::kManaged ? HostMemory::kManaged : HostMemory::kUnknown;
}

std::optional<Way> way_of(CopyKind kind) {
  if (kind == CopyKind::kHostToDevice) return Way::kIn;
  if (kind == CopyKind::kDeviceToHost) return Way::kOut;
  if (kind == CopyKind::kPeer) return Way::kPeer;
  return std::nullopt;
}

/// When a kernel ran: of ten million rows no more columns than that.
struct KernelTimes {
  static constexpr const char* kTable = "kernel";
  std::optional<std::int64_t> device_id, stream_id;
  std::int64_t name_id = 0, start_ns = 0, end_ns = 0;
  template <typename Row = KernelTimes>
  static constexpr auto columns() {
    return std::tuple{trace::Column{"device_id", &Row::device_id},
                      trace::Column{"stream_id", &Row::stream_id},
                      trace::Column{"coalesce(name_id, 0)", &Row::name_id},
                      trace::Column{"start_ns", &Row::start_ns}, trace::Column{"end_ns", &Row::end_ns}};
  }
};

class Reader {
 public:
  explicit Reader(trace::Session& session) : session_(session) {}

  RecordedTraffic read() {
    read_kernels();
    read_memsets();
    read_nodes();
    read_copies();
    read_migrations();
    set_ready();
    read_links();
    read_counters();
    return std::move(result_);
  }

 private:
  /// Work of a stream, after which its next transfer can begin.
  struct StreamEnd {
    std::int64_t start_ns, end_ns;
  };

  void read_kernels() {
    std::set<std::int64_t> names;
    for (const auto& row : session_.rows<trace::StringRow>("WHERE value LIKE '%nccl%'")) {
      if (synchronises(row.value)) names.insert(row.id);
    }
    for (const auto& row : session_.rows<KernelTimes>("WHERE end_ns > start_ns")) {
      if (row.device_id) result_.computing[*row.device_id].push_back({row.start_ns, row.end_ns});
      if (row.device_id && names.contains(row.name_id))
        result_.collectives[*row.device_id].push_back({row.start_ns, row.end_ns});
      add_to_stream(row.stream_id, row.start_ns, row.end_ns);
    }
    for (auto* times : {&result_.computing, &result_.collectives}) {
      for (auto& [device, intervals] : *times) intervals = united(std::move(intervals));
    }
  }

  void read_memsets() {
    for (const auto& row : session_.rows<trace::MemsetRow>("WHERE end_ns > start_ns"))
      add_to_stream(row.stream_id, *row.start_ns, *row.end_ns);
  }

  void add_to_stream(const std::optional<std::int64_t>& stream, std::int64_t start_ns, std::int64_t end_ns) {
    if (!stream) return;
    if (last_ == nullptr || last_stream_ != *stream) {
      last_stream_ = *stream;
      last_ = &streams_[*stream];
    }
    last_->push_back({start_ns, end_ns});
  }

  /// Where GPUs, and allocations of host memory, are.
  void read_nodes() {
    for (const auto& row : session_.rows<trace::DeviceRow>("WHERE numa_node >= 0"))
      nodes_[row.id] = *row.numa_node;
    for (const auto& row : session_.rows<trace::LinkRow>("WHERE kind = 'pcie' AND numa_node >= 0")) {
      if (row.device_id) nodes_.try_emplace(*row.device_id, *row.numa_node);
    }
    if (nodes_.empty()) return;
    for (const auto& row : session_.rows<trace::AllocationRow>("WHERE numa_node >= 0 ORDER BY alloc_ns"))
      host_memory_[row.process_id].emplace(row.address, row);
  }

  /// The host's side of a copy is known to lie on another node than the GPU.
  bool is_far(const trace::MemcpyRow& row, Way way) const {
    const auto node = nodes_.find(*row.device_id);
    const auto& address = way == Way::kIn ? row.source_address : row.destination_address;
    const auto memory = host_memory_.find(row.process_id);
    if (way == Way::kPeer || node == nodes_.end() || !address || memory == host_memory_.end()) return false;
    const std::int64_t when = row.call_ns.value_or(*row.start_ns);
    for (auto at = memory->second.upper_bound(*address); at != memory->second.begin();) {
      const trace::AllocationRow& one = (--at)->second;
      if (*address >= one.address + one.bytes) return false;  // the nearest below does not reach it
      if (one.alloc_ns <= when && when <= one.free_ns.value_or(when)) return *one.numa_node != node->second;
    }
    return false;
  }

  void read_copies() {
    for (const auto& row : session_.rows<trace::MemcpyRow>("ORDER BY start_ns")) {
      const std::optional<Way> way = way_of(row.kind);
      if (!way) continue;
      if (!row.start_ns || !row.end_ns || *row.end_ns <= *row.start_ns || !row.device_id) {
        ++result_.untimed;
        continue;
      }
      add_to_stream(row.stream_id, *row.start_ns, *row.end_ns);
      HostTransfer transfer;
      transfer.process = row.process_id;
      transfer.device = *row.device_id;
      transfer.way = *way;
      transfer.memory = host_memory(*way == Way::kIn ? row.source_kind : row.destination_kind);
      transfer.start_ns = *row.start_ns;
      transfer.end_ns = *row.end_ns;
      transfer.bytes = row.bytes;
      transfer.stream = row.stream_id.value_or(0);
      transfer.ready_ns = row.call_ns;
      transfer.far = is_far(row, *way);
      result_.transfers.push_back(transfer);
      result_.sources.push_back({row.id, row.owner == trace::StreamOwner::kRuntime});
    }
  }

  void read_migrations() {
    for (const auto& row : session_.rows<trace::UmEventRow>("WHERE bytes > 0 AND end_ns > start_ns")) {
      const bool in = row.kind == trace::UmEventKind::kMigrationToDevice;
      const auto& device = in ? row.destination_device_id : row.source_device_id;
      if (!device || (!in && row.kind != trace::UmEventKind::kMigrationToHost)) continue;
      HostTransfer transfer;
      transfer.process = row.process_id;
      transfer.device = *device;
      transfer.way = in ? Way::kIn : Way::kOut;
      transfer.memory = HostMemory::kManaged;
      transfer.start_ns = row.start_ns;
      transfer.end_ns = *row.end_ns;
      transfer.bytes = *row.bytes;
      result_.transfers.push_back(transfer);
      result_.sources.emplace_back();
    }
  }

  /// Called, and the work before it in its stream done.
  void set_ready() {
    for (auto& [stream, items] : streams_) {
      std::sort(items.begin(), items.end(),
                [](const StreamEnd& a, const StreamEnd& b) { return a.start_ns < b.start_ns; });
    }
    for (HostTransfer& transfer : result_.transfers) {
      if (!transfer.ready_ns || transfer.stream == 0) continue;
      const auto& items = streams_[transfer.stream];
      auto at = std::lower_bound(items.begin(), items.end(), transfer.start_ns,
                                 [](const StreamEnd& one, std::int64_t time) { return one.start_ns < time; });
      if (at == items.begin()) continue;
      --at;
      transfer.ready_ns = std::min(transfer.start_ns, std::max(*transfer.ready_ns, at->end_ns));
    }
  }

  void read_links() {
    std::map<std::int64_t, trace::LinkRow> links;
    for (const auto& row : session_.rows<trace::LinkRow>("WHERE kind <> 'nvlink'")) links[row.id] = row;
    for (const auto& [id, row] : links) {
      if (!row.device_id || row.kind != "pcie") continue;
      LinkPath path{*row.device_id, {}};
      std::set<std::int64_t> seen;  // a damaged tree may have a circle
      for (auto at = links.find(id); at != links.end() && seen.insert(at->first).second;) {
        path.edges.push_back(at->first);
        at = at->second.parent_id ? links.find(*at->second.parent_id) : links.end();
      }
      result_.paths.push_back(path);
      if (row.known_by != "measured") continue;
      SoloRates rates{{}, {}, SoloSource::kMeasured};
      if (row.h2d_bytes_per_second.value_or(0) > 0) rates.in = *row.h2d_bytes_per_second * 1e-9;
      if (row.d2h_bytes_per_second.value_or(0) > 0) rates.out = *row.d2h_bytes_per_second * 1e-9;
      result_.calibrated[*row.device_id] = rates;
    }
  }

  void read_counters() {
    for (const auto& name : session_.rows<trace::StringRow>("WHERE value LIKE '%pcie_%'")) {
      const std::optional<Way> way = counter_way(name.value);
      if (!way) continue;
      for (const auto& row :
           session_.rows<trace::CounterRow>("WHERE name_id = ? AND end_ns > start_ns", name.id)) {
        if (row.device_id)
          result_.counters[{*row.device_id, *way}].push_back({row.start_ns, row.end_ns, row.value});
      }
    }
    for (auto& [link, series] : result_.counters) series = without_overlaps(std::move(series));
  }

  /// In order; of samples that overlap the first.
  static std::vector<TrafficSample> without_overlaps(std::vector<TrafficSample> series) {
    std::stable_sort(series.begin(), series.end(),
                     [](const TrafficSample& a, const TrafficSample& b) { return a.begin_ns < b.begin_ns; });
    std::vector<TrafficSample> kept;
    for (const TrafficSample& sample : series) {
      if (kept.empty() || sample.begin_ns >= kept.back().end_ns) kept.push_back(sample);
    }
    return kept;
  }

  trace::Session& session_;
  RecordedTraffic result_;
  std::map<std::int64_t, std::int64_t> nodes_;  ///< NUMA node by device
  std::map<std::int64_t, std::multimap<std::int64_t, trace::AllocationRow>>
      host_memory_;  ///< by process, address
  std::map<std::int64_t, std::vector<StreamEnd>> streams_;
  std::int64_t last_stream_ = 0;
  std::vector<StreamEnd>* last_ = nullptr;  ///< of last_stream_
};

}  // namespace

std::optional<Way> counter_way(const std::string& name) {
  if (name.find("pcie__read_bytes") != std::string::npos) return Way::kIn;
  if (name.find("pcie__write_bytes") != std::string::npos) return Way::kOut;
  return std::nullopt;
}

RecordedTraffic read_transfers(trace::Session& session) { return Reader(session).read(); }

}  // namespace tferry::analyzer
