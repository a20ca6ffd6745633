#include "analyzer/session/read_recording.hpp"

#include "analyzer/session/recorded_rank.hpp"
#include "trace/flat_plan.hpp"
#include "trace/session_column.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tferry::analyzer {
namespace {

using trace::Column;
using trace::OperationSignature;
using Kind = SessionRecording::Kind;

/// Of the rows of kernel, memcpy and memset the columns that tell of an operation: there are millions.
struct Call {
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id, stream_id, start_ns, end_ns, operation, call_ns;
  trace::StreamOwner owner = trace::StreamOwner::kUnknown;

  static constexpr auto columns() {
    return std::tuple{Column{"id", &Call::id},
                      Column{"process_id", &Call::process_id},
                      Column{"device_id", &Call::device_id},
                      Column{"stream_id", &Call::stream_id},
                      Column{"start_ns", &Call::start_ns},
                      Column{"end_ns", &Call::end_ns},
                      Column{"operation", &Call::operation},
                      Column{"call_ns", &Call::call_ns},
                      Column{"owner", &Call::owner}};
  }
};

/// What makes two launches the same.
struct Shape {
  std::int64_t name_id = 0, grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0;
  bool operator==(const Shape&) const = default;
};

struct ShapeHash {
  std::size_t operator()(const Shape& shape) const {
    std::uint64_t hash = 0;
    for (const std::int64_t value : {shape.name_id, shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x,
                                     shape.block_y, shape.block_z})
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 32;
  }
};

struct KernelCall : Call, Shape {
  static constexpr const char* kTable = "kernel";
  template <typename Row = KernelCall>
  static constexpr auto columns() {
    return std::tuple_cat(Call::columns(),
                          std::tuple{Column{"coalesce(name_id, 0)", &Row::name_id},
                                     Column{"grid_x", &Row::grid_x}, Column{"grid_y", &Row::grid_y},
                                     Column{"grid_z", &Row::grid_z}, Column{"block_x", &Row::block_x},
                                     Column{"block_y", &Row::block_y}, Column{"block_z", &Row::block_z}});
  }
};

struct CopyCall : Call {
  static constexpr const char* kTable = "memcpy";
  std::int64_t bytes = 0;
  std::int64_t kind = 0;
  template <typename Row = CopyCall>
  static constexpr auto columns() {
    return std::tuple_cat(Call::columns(),
                          std::tuple{Column{"bytes", &Row::bytes}, Column{"kind", &Row::kind}});
  }
};

struct MemsetCall : Call {
  static constexpr const char* kTable = "memset";
  std::int64_t bytes = 0;
  template <typename Row = MemsetCall>
  static constexpr auto columns() {
    return std::tuple_cat(Call::columns(), std::tuple{Column{"bytes", &Row::bytes}});
  }
};

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

/// Reads every table once, and hands each row to the ranks that it is about.
class RecordingsReader {
 public:
  explicit RecordingsReader(trace::Session& session) : session_(session) {}

  std::vector<SessionRecording> read() {
    read_kernels();
    read_copies();
    read_memsets();
    read_graphs();
    for (auto& [key, rank] : ranks_) {
      for (const RankOperation& operation : anywhere_[key.first]) rank.add(operation);
      rank.order_operations();
    }
    for (const auto& row : session_.rows<trace::GateRow>())
      for_each_rank(row.process_id, [&](RecordedRank& rank) { rank.add_gate(row.operation); });
    read_allocations();
    for (const auto& row : session_.rows<trace::AccessRow>("ORDER BY rowid"))
      for_each_rank(row.process_id, [&](RecordedRank& rank) { rank.add(row); });
    std::vector<SessionRecording> recordings;
    for (auto& [key, rank] : ranks_) recordings.push_back(rank.finish(names_));
    return recordings;
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, device

  struct Identity {
    std::uint32_t signature = 0;
    std::uint32_t name = 0;  ///< in names_
    std::uint64_t known_by = 0;
  };

  void read_kernels() {
    std::unordered_map<Shape, Identity, ShapeHash> shapes;
    for (const auto& row : session_.rows<KernelCall>()) {
      const auto [place, fresh] = shapes.try_emplace(row);
      if (fresh) place->second = identify(row);
      add(row, Kind::kKernel, place->second, row.name_id);
    }
  }

  Identity identify(const Shape& shape) {
    Signature signature;
    signature.add(0).add(shape.name_id).add(shape.grid_x).add(shape.grid_y).add(shape.grid_z);
    signature.add(shape.block_x).add(shape.block_y).add(shape.block_z);
    const std::string& name = session_.string(shape.name_id);
    return {signature.value(), names_.intern(name),
            OperationSignature::launch(name, extent(shape.grid_x, shape.grid_y, shape.grid_z),
                                       extent(shape.block_x, shape.block_y, shape.block_z))};
  }

  void read_copies() {
    std::map<std::int64_t, std::uint32_t> names;  // by kind of copy
    for (const auto& row : session_.rows<CopyCall>()) {
      const auto [name, fresh] = names.try_emplace(row.kind);
      if (fresh) name->second = names_.intern("memcpy " + session_.label("copy_kind", row.kind));
      add(row, Kind::kMemcpy,
          {Signature().add(1).add(row.kind).add(row.bytes).value(), name->second,
           OperationSignature::copy(row.bytes)},
          0);
    }
  }

  void read_memsets() {
    const std::uint32_t name = names_.intern("memset");
    for (const auto& row : session_.rows<MemsetCall>())
      add(row, Kind::kMemset,
          {Signature().add(2).add(row.bytes).value(), name, OperationSignature::memset(row.bytes)}, 0);
  }

  void read_graphs() {
    const std::uint32_t name = names_.intern("graph launch");
    for (const auto& row : session_.rows<trace::GraphLaunchRow>()) {
      Call call;
      call.process_id = row.process_id;
      call.device_id = row.device_id;
      call.stream_id = row.stream_id;
      call.operation = row.operation;
      call.call_ns = row.call_ns;
      add(call, Kind::kGraph,
          {Signature().add(3).add(row.graph.value_or(0)).value(), name, OperationSignature::graph()}, 0);
    }
  }

  /// Kernels and copies make a rank; the runtime's own are none of its operations. What is on no known device
  /// counts for all of its process.
  void add(const Call& row, Kind kind, const Identity& what, std::int64_t name_id) {
    const bool makes_rank = kind == Kind::kKernel || kind == Kind::kMemcpy;
    RecordedRank* rank = row.device_id ? find(row.process_id, *row.device_id, makes_rank) : nullptr;
    if (row.owner == trace::StreamOwner::kRuntime || (row.device_id && rank == nullptr)) return;
    RankOperation operation;
    operation.recorded = {what.signature, what.name,  row.call_ns.value_or(row.start_ns.value_or(0)),
                          row.start_ns,   row.end_ns, row.operation.value_or(0)};
    operation.source = {kind, row.id, name_id, row.stream_id.value_or(0), what.known_by};
    operation.numbered = row.operation.has_value();
    rank != nullptr ? rank->add(operation) : anywhere_[row.process_id].push_back(operation);
  }

  RecordedRank* find(std::int64_t process, std::int64_t device, bool make) {
    const Key key{process, device};
    if (last_ != nullptr && last_key_ == key) return last_;
    auto found = ranks_.find(key);
    if (found == ranks_.end() && !make) return nullptr;
    if (found == ranks_.end()) found = ranks_.try_emplace(key, process, device).first;
    last_key_ = key;
    return last_ = &found->second;
  }

  template <typename Visit>
  void for_each_rank(std::int64_t process, Visit&& visit) {
    for (auto at = ranks_.lower_bound({process, std::numeric_limits<std::int64_t>::min()});
         at != ranks_.end() && at->first.first == process; ++at)
      visit(at->second);
  }

  void read_allocations() {
    for (const auto& row : session_.rows<trace::AllocationRow>("ORDER BY alloc_ns")) {
      if (!row.device_id) {
        for_each_rank(row.process_id, [&](RecordedRank& rank) { rank.add(row); });
      } else if (RecordedRank* rank = find(row.process_id, *row.device_id, false); rank != nullptr) {
        rank->add(row);
      }
    }
    for (auto& [key, rank] : ranks_) rank.allocations_added();
    // What an earlier analysis carried over is left out, or names would depend on it. PyTorch's win.
    for (const auto& row :
         session_.rows<trace::AllocationNameRow>("WHERE source <> 'matched' ORDER BY source = 'pytorch'")) {
      const std::uint32_t label = names_.intern(row.category ? *row.category + " " + row.name : row.name);
      for (auto& [key, rank] : ranks_) rank.name(row.allocation_id, label);
    }
  }

  static std::array<std::uint32_t, 3> extent(std::int64_t x, std::int64_t y, std::int64_t z) {
    return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z)};
  }

  trace::Session& session_;
  NamePool names_;
  std::map<Key, RecordedRank> ranks_;
  Key last_key_;
  RecordedRank* last_ = nullptr;                                 ///< of last_key_
  std::map<std::int64_t, std::vector<RankOperation>> anywhere_;  ///< by process
};

}  // namespace

const char* kind_name(SessionRecording::Kind kind) {
  switch (kind) {
    case Kind::kKernel:
      return "kernel";
    case Kind::kMemcpy:
      return "memcpy";
    case Kind::kMemset:
      return "memset";
    case Kind::kGraph:
      break;
  }
  return "graph";
}

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
  return RecordingsReader(session).read();
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
