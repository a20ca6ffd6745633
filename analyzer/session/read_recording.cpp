#include "analyzer/session/read_recording.hpp"

#include "trace/flat_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <unordered_map>

namespace tferry::analyzer {
namespace {

using trace::AccessRow;
using trace::AllocationRow;
using trace::OperationSignature;

std::array<std::uint32_t, 3> extent(std::int64_t x, std::int64_t y, std::int64_t z) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z)};
}

/// FNV-1a over what makes two operations the same.
class Signature {
 public:
  Signature& add(std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ static_cast<std::uint64_t>(value >> (8 * byte) & 0xff)) * 0x100000001b3ULL;
    }
    return *this;
  }
  std::uint32_t value() const { return static_cast<std::uint32_t>(hash_ ^ hash_ >> 32); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

constexpr std::uint32_t kNotPlanned = ~std::uint32_t{0};

/// What the runtime serves under a plan. Managed, pinned and virtual memory, arrays and pools of the
/// program's own stay the driver's, and a run under a plan does not count them.
bool may_be_planned(const AllocationRow& row) {
  const bool on_device = row.device_id && (row.memory_kind == trace::MemoryKind::kUnknown ||
                                           row.memory_kind == trace::MemoryKind::kDevice);
  return on_device && row.api != trace::AllocationApi::kPool && row.api != trace::AllocationApi::kVirtual;
}

struct Entry {
  RecordedOperation operation;
  SessionRecording::Source source;
};

class RankReader {
 public:
  RankReader(trace::Session& session, std::int64_t process, std::int64_t device)
      : session_(session), process_(process), device_(device) {}

  SessionRecording read() {
    SessionRecording result;
    result.process_id = process_;
    result.device_id = device_;
    for (const auto& row : session_.rows<trace::KernelRow>(kWhere, process_, device_)) {
      Signature signature;
      signature.add(0).add(row.name_id.value_or(0)).add(row.grid_x).add(row.grid_y).add(row.grid_z);
      signature.add(row.block_x).add(row.block_y).add(row.block_z);
      Entry& entry = add(row, signature.value(), "kernel");
      entry.operation.name = session_.string(row.name_id);
      entry.source.name_id = row.name_id;
      entry.source.kernel_id = row.id;
      identify(entry,
               OperationSignature::launch(entry.operation.name, extent(row.grid_x, row.grid_y, row.grid_z),
                                          extent(row.block_x, row.block_y, row.block_z)));
    }
    for (const auto& row : session_.rows<trace::MemcpyRow>(kWhere, process_, device_)) {
      Signature signature;
      Entry& entry =
          add(row, signature.add(1).add(static_cast<int>(row.kind)).add(row.bytes).value(), "memcpy");
      if (entry.operation.name.empty()) {
        entry.operation.name = "memcpy " + session_.label("copy_kind", static_cast<int>(row.kind));
      }
      entry.source.memcpy_id = row.id;
      identify(entry, OperationSignature::copy(row.bytes));
    }
    for (const auto& row : session_.rows<trace::MemsetRow>(kWhere, process_, device_)) {
      Signature signature;
      Entry& entry = add(row, signature.add(2).add(row.bytes).value(), "memset");
      if (entry.operation.name.empty()) entry.operation.name = "memset";
      entry.source.memset_id = row.id;
      identify(entry, OperationSignature::memset(row.bytes));
    }
    add_graphs();
    result.hooked = !by_number_.empty();
    finish(result);
    read_gates(result);
    read_memory(result);
    return result;
  }

 private:
  static constexpr const char* kWhere =
      "WHERE process_id = ? AND (device_id = ? OR device_id IS NULL) AND owner <> 2 ORDER BY start_ns";

  /// What an earlier analysis carried over is left out, or names would depend on it. PyTorch's win.
  static constexpr const char* kNamed =
      "WHERE source <> 'matched' AND allocation_id IN (SELECT id FROM allocation WHERE process_id = ? AND "
      "device_id = ?) ORDER BY source = 'pytorch'";

  /// The entry of a row's operation; rows that share one (of a graph, of a copy in parts) lie within its
  /// times.
  template <typename Row>
  Entry& add(const Row& row, std::uint32_t signature, const char* kind) {
    Entry* entry = nullptr;
    if (row.operation) {
      const auto [place, fresh] = by_number_.try_emplace(*row.operation);
      entry = &place->second;
      if (fresh) *entry = make(row, signature, kind);
    } else {
      loose_.push_back(make(row, signature, kind));
      entry = &loose_.back();
    }
    RecordedOperation& operation = entry->operation;
    if (row.start_ns)
      operation.start_ns = std::min(operation.start_ns.value_or(*row.start_ns), *row.start_ns);
    if (row.end_ns) operation.end_ns = std::max(operation.end_ns.value_or(*row.end_ns), *row.end_ns);
    return *entry;
  }

  template <typename Row>
  Entry make(const Row& row, std::uint32_t signature, const char* kind) const {
    Entry entry;
    entry.operation.signature = signature;
    entry.operation.number = row.operation.value_or(0);
    entry.operation.call_ns = row.call_ns.value_or(row.start_ns.value_or(0));
    entry.source.kind = kind;
    entry.source.stream_id = row.stream_id;
    return entry;
  }

  /// The first row of an operation tells.
  static void identify(Entry& entry, std::uint64_t identity) {
    if (entry.source.identity == 0) entry.source.identity = identity;
  }

  void add_graphs() {
    for (const auto& row : session_.rows<trace::GraphLaunchRow>(
             "WHERE process_id = ? AND (device_id = ? OR device_id IS NULL)", process_, device_)) {
      Entry& entry = by_number_[row.operation];
      Signature signature;
      entry.operation.signature = signature.add(3).add(row.graph.value_or(0)).value();
      entry.operation.number = row.operation;
      entry.operation.call_ns = row.call_ns;
      entry.operation.name = "graph launch";
      entry.source = {"graph", {}, row.stream_id, {}, {}, {}, OperationSignature::graph()};
    }
  }

  void finish(SessionRecording& result) {
    std::vector<Entry> entries;
    for (auto& [number, entry] : by_number_) entries.push_back(std::move(entry));
    if (result.hooked) {
      result.without_call = static_cast<std::int64_t>(loose_.size());
    } else {
      entries = std::move(loose_);
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.operation.call_ns != b.operation.call_ns ? a.operation.call_ns < b.operation.call_ns
                                                        : a.operation.number < b.operation.number;
    });
    for (Entry& entry : entries) {
      if (result.hooked) {
        index_[entry.operation.number] = static_cast<std::uint32_t>(result.recording.operations.size());
      }
      result.recording.operations.push_back(std::move(entry.operation));
      result.sources.push_back(std::move(entry.source));
    }
  }

  void read_gates(SessionRecording& result) {
    for (const auto& row : session_.rows<trace::GateRow>("WHERE process_id = ?", process_)) {
      const auto operation = index_.find(row.operation);
      if (operation != index_.end()) result.recording.operations[operation->second].gated = true;
    }
  }

  void read_memory(SessionRecording& result) {
    std::unordered_map<std::int64_t, std::uint32_t> allocations;
    std::unordered_map<std::int64_t, std::int64_t> asked;
    for (const auto& row : session_.rows<AllocationRow>(
             "WHERE process_id = ? AND (device_id = ? OR device_id IS NULL) ORDER BY alloc_ns", process_,
             device_)) {
      if (!may_be_planned(row)) {
        allocations[row.id] = kNotPlanned;
        continue;
      }
      allocations[row.id] = static_cast<std::uint32_t>(result.recording.allocations.size());
      asked[row.id] = row.bytes;
      const std::int64_t bytes = std::max(row.reserved_bytes, row.bytes);
      result.recording.allocations.push_back(
          {row.id, bytes, row.alloc_ns, row.free_ns, row.movable != 0, row.bytes, row.captured != 0});
    }
    for (const auto& row : session_.rows<trace::AllocationNameRow>(kNamed, process_, device_)) {
      const auto allocation = allocations.find(row.allocation_id);
      if (allocation == allocations.end()) continue;
      result.recording.allocations[allocation->second].label =
          row.category ? *row.category + " " + row.name : row.name;
    }
    for (const auto& row :
         session_.rows<AccessRow>("WHERE process_id = ? ORDER BY operation, rowid", process_)) {
      const auto operation = index_.find(row.operation);
      if (operation == index_.end()) continue;
      const auto allocation = allocations.find(row.allocation_id.value_or(0));
      if (allocation == allocations.end()) {
        ++result.unknown_accesses;
        continue;
      }
      if (allocation->second == kNotPlanned) continue;
      if (row.known_by == trace::KnownBy::kTable) {
        // Device memory holds its address from now on, and kernels may follow it unseen.
        RecordedAllocation& pointed_to = result.recording.allocations[allocation->second];
        pointed_to.stays = true;
        pointed_to.movable = false;
        continue;
      }
      const bool whole = row.offset == 0 && row.bytes.value_or(0) >= asked[allocation->first];
      result.recording.accesses.push_back(
          {operation->second, allocation->second, access_kind(row.kind, whole)});
    }
    std::stable_sort(
        result.recording.accesses.begin(), result.recording.accesses.end(),
        [](const RecordedAccess& a, const RecordedAccess& b) { return a.operation < b.operation; });
  }

  trace::Session& session_;
  std::int64_t process_;
  std::int64_t device_;
  std::map<std::int64_t, Entry> by_number_;
  std::vector<Entry> loose_;  ///< records without a call
  std::unordered_map<std::int64_t, std::uint32_t> index_;
};

}  // namespace

AccessKind access_kind(trace::AccessKind kind, bool whole) {
  switch (kind) {
    case trace::AccessKind::kRead:
      return AccessKind::kRead;
    case trace::AccessKind::kWrite:
      return whole ? AccessKind::kOverwrite : AccessKind::kUpdate;
    case trace::AccessKind::kReadWrite:
      return AccessKind::kUpdate;
    default:
      return AccessKind::kMayTouch;
  }
}

std::vector<SessionRecording> read_recordings(trace::Session& session) {
  std::map<std::pair<std::int64_t, std::int64_t>, bool> ranks;
  trace::Statement statement(
      session.database(),
      "SELECT DISTINCT process_id, device_id FROM kernel WHERE device_id IS NOT NULL "
      "UNION SELECT DISTINCT process_id, device_id FROM memcpy WHERE device_id IS NOT NULL");
  while (statement.step()) {
    std::int64_t process = 0;
    std::int64_t device = 0;
    statement.get(0, process);
    statement.get(1, device);
    ranks[{process, device}] = true;
  }
  std::vector<SessionRecording> recordings;
  for (const auto& [rank, ignored] : ranks) {
    recordings.push_back(RankReader(session, rank.first, rank.second).read());
  }
  return recordings;
}

LinkRates link_rates(trace::Session& session, std::int64_t device_id, std::string* known_by) {
  LinkRates rates;
  *known_by = "assumed";
  const auto row = session.first<trace::LinkRow>(
      "WHERE device_id = ? AND kind = 'pcie' AND h2d_bytes_per_second > 0 AND d2h_bytes_per_second > 0",
      device_id);
  if (!row) return rates;
  *known_by = row->known_by;
  const double shared = rates.duplex_in / rates.in;
  rates.in = *row->h2d_bytes_per_second * 1e-9;
  rates.out = *row->d2h_bytes_per_second * 1e-9;
  rates.duplex_in =
      std::min(rates.in, row->duplex_h2d_bytes_per_second.value_or(rates.in * shared * 1e9) * 1e-9);
  rates.duplex_out =
      std::min(rates.out, row->duplex_d2h_bytes_per_second.value_or(rates.out * shared * 1e9) * 1e-9);
  return rates;
}

}  // namespace tferry::analyzer
