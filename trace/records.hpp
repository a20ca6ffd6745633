#pragma once

#include "trace/record_enums.hpp"
#include "trace/record_kind.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tferry::trace {

// The records of a spool: plain structs, copied byte for byte, little-endian. Every record begins with its
// time: int64 nanoseconds of CLOCK_MONOTONIC of the host (for spans, the start). Sizes are int64 bytes. A
// field nobody knows is 0 (ids and kinds) or -1 (device, rank). Strings stand as ids: the XXH3 hash of their
// bytes, the same in every spool of every process (SpoolWriter::intern). Later versions may append fields;
// readers take the prefix they know. `operation` numbers the launches, copies and memsets of a process,
// `sequence` those of one stream.

using StringId = std::uint64_t;  ///< 0: no string

struct Dim3 {
  std::uint32_t x = 0, y = 0, z = 0;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// First record of every spool but the sampler's.
struct ProcessRecord {
  static constexpr RecordKind kKind = RecordKind::kProcess;
  std::int64_t time_ns = 0;
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::int32_t rank = -1;        ///< in the whole job
  std::int32_t local_rank = -1;  ///< on this host
  std::int32_t world_size = -1;
  std::int32_t driver_version = 0;  ///< as cuDriverGetVersion tells, 13000 is 13.0
  StringId host = 0;
  StringId command = 0;  ///< secrets masked by whoever writes it
};

/// `device` in all other records is the ordinal as the process sees it; the UUID tells which card that is.
struct DeviceRecord {
  static constexpr RecordKind kKind = RecordKind::kDevice;
  std::int64_t time_ns = 0;
  std::int32_t device = -1;
  std::int32_t pci_domain = 0, pci_bus = 0, pci_device = 0;
  std::uint8_t uuid[16] = {};
  std::int64_t memory_bytes = 0;
  StringId name = 0;
  std::int32_t multiprocessors = 0;
  std::int32_t compute_major = 0, compute_minor = 0;
  std::int32_t copy_engines = 0;
  std::int32_t pcie_generation = 0, pcie_width = 0;
  std::int32_t numa_node = -1;
  std::int32_t reserved = 0;
};

struct ContextRecord {
  static constexpr RecordKind kKind = RecordKind::kContext;
  std::int64_t time_ns = 0;
  std::uint64_t handle = 0;      ///< CUcontext
  std::uint32_t context_id = 0;  ///< CUPTI's
  std::int32_t device = -1;
};

/// Ties a stream handle, which hooks see and which may be reused, to the stream id of activity records, from
/// `time_ns` until another record names the handle. The default stream has handle 0.
struct StreamRecord {
  static constexpr RecordKind kKind = RecordKind::kStream;
  std::int64_t time_ns = 0;
  std::uint64_t handle = 0;      ///< CUstream
  std::uint32_t context_id = 0;  ///< CUPTI's
  std::uint32_t stream_id = 0;   ///< CUPTI's
  std::int32_t device = -1;
  std::int32_t priority = 0;
  StreamOwner owner = StreamOwner::kUnknown;
  std::uint8_t reserved[7] = {};
};

/// Followed by the bytes of the string, not terminated. Written at the string's first use or later, perhaps
/// twice.
struct StringRecord {
  static constexpr RecordKind kKind = RecordKind::kString;
  std::int64_t time_ns = 0;
  StringId id = 0;
  std::uint64_t length = 0;  ///< bytes
};

/// Hook: a launch that the driver accepted.
struct KernelLaunchRecord {
  static constexpr RecordKind kKind = RecordKind::kKernelLaunch;
  std::int64_t time_ns = 0;    ///< call entered
  std::int64_t return_ns = 0;  ///< call returned
  std::uint64_t operation = 0;
  std::uint64_t stream = 0;    ///< CUstream handle
  std::uint64_t sequence = 0;  ///< n-th operation of this stream, from 0
  StringId name = 0;           ///< mangled
  std::int64_t wait_ns = 0;    ///< of the call's time: spent waiting for the runtime's own work
  Dim3 grid = {}, block = {};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  std::uint32_t thread = 0;        ///< gettid
  std::int32_t device = -1;
  std::uint32_t captured = 0;  ///< 1: into a graph under capture, nothing ran
};

/// CUPTI: a kernel that ran.
struct KernelActivityRecord {
  static constexpr RecordKind kKind = RecordKind::kKernelActivity;
  std::int64_t time_ns = 0;  ///< start
  std::int64_t end_ns = 0;   ///< 0: still running when the recording stopped
  StringId name = 0;
  std::uint64_t graph_node_id = 0;
  std::uint32_t graph_id = 0;  ///< 0: not launched by a graph
  std::uint32_t correlation_id = 0;
  std::uint32_t context_id = 0;
  std::uint32_t stream_id = 0;
  std::int32_t device = -1;
  Dim3 grid = {}, block = {};
  std::uint32_t registers = 0;  ///< per thread
  std::uint32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
};

/// Hook: a copy that the driver accepted.
struct MemcpyCallRecord {
  static constexpr RecordKind kKind = RecordKind::kMemcpyCall;
  std::int64_t time_ns = 0;
  std::int64_t return_ns = 0;
  std::uint64_t operation = 0;
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
  std::uint64_t destination = 0, source = 0;  ///< addresses
  std::int64_t bytes = 0;                     ///< payload, rows times width for 2D copies
  std::int64_t wait_ns = 0;
  std::uint32_t thread = 0;
  std::int32_t device = -1;
  CopyKind kind = CopyKind::kUnknown;
  std::uint8_t asynchronous = 0;
  std::uint8_t captured = 0;
  std::uint8_t reserved[5] = {};
};

/// CUPTI: a copy that ran.
struct MemcpyActivityRecord {
  static constexpr RecordKind kKind = RecordKind::kMemcpyActivity;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = 0;
  std::uint64_t graph_node_id = 0;
  std::uint32_t graph_id = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t context_id = 0;
  std::uint32_t stream_id = 0;
  std::int32_t device = -1;
  std::int32_t source_device = -1, destination_device = -1;  ///< peer copies
  std::uint32_t channel = 0;  ///< which hardware channel, tells copy engines apart
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source_kind = MemoryKind::kUnknown, destination_kind = MemoryKind::kUnknown;
  std::uint8_t asynchronous = 0;
  std::uint8_t reserved[4] = {};
};

/// Hook: a memset that the driver accepted.
struct MemsetCallRecord {
  static constexpr RecordKind kKind = RecordKind::kMemsetCall;
  std::int64_t time_ns = 0;
  std::int64_t return_ns = 0;
  std::uint64_t operation = 0;
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t wait_ns = 0;
  std::uint32_t value = 0;
  std::uint32_t thread = 0;
  std::int32_t device = -1;
  std::uint32_t captured = 0;
};

/// CUPTI: a memset that ran.
struct MemsetActivityRecord {
  static constexpr RecordKind kKind = RecordKind::kMemsetActivity;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = 0;
  std::uint64_t graph_node_id = 0;
  std::uint32_t graph_id = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t context_id = 0;
  std::uint32_t stream_id = 0;
  std::int32_t device = -1;
  std::uint32_t value = 0;
  MemoryKind kind = MemoryKind::kUnknown;
  std::uint8_t reserved[7] = {};
};

/// Hook: a graph launch that the driver accepted. Its kernels and copies carry its correlation id in activity
/// records.
struct GraphLaunchRecord {
  static constexpr RecordKind kKind = RecordKind::kGraphLaunch;
  std::int64_t time_ns = 0;
  std::int64_t return_ns = 0;
  std::uint64_t operation = 0;
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
  std::uint64_t graph = 0;  ///< CUgraphExec handle
  std::int64_t wait_ns = 0;
  std::uint32_t thread = 0;
  std::int32_t device = -1;
};

/// Hook: an allocation that succeeded.
struct AllocationRecord {
  static constexpr RecordKind kKind = RecordKind::kAllocation;
  std::int64_t time_ns = 0;
  std::uint64_t allocation = 0;  ///< unique in the process, never reused
  std::uint64_t address = 0;
  std::int64_t bytes = 0;           ///< as asked for
  std::int64_t reserved_bytes = 0;  ///< as the budget counts it
  std::uint64_t stream = 0;         ///< stream-ordered allocations
  std::uint32_t thread = 0;
  std::int32_t device = -1;
  MemoryKind kind = MemoryKind::kUnknown;
  AllocationApi api = AllocationApi::kUnknown;
  std::uint8_t movable = 0;             ///< 1: large enough to be moved
  std::uint8_t captured = 0;            ///< 1: made while a stream was capturing
  std::uint16_t numa_node_and_one = 0;  ///< of memory of the host: its node + 1; 0: not known
  std::uint8_t reserved[2] = {};
};

struct FreeRecord {
  static constexpr RecordKind kKind = RecordKind::kFree;
  std::int64_t time_ns = 0;
  std::uint64_t allocation = 0;
  std::uint64_t stream = 0;
  std::uint32_t thread = 0;
  std::uint32_t reserved = 0;
};

/// Hook: a call about a pool of memory that the driver accepted.
struct PoolOperationRecord {
  static constexpr RecordKind kKind = RecordKind::kPoolOperation;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;  ///< call returned
  std::uint64_t pool = 0;   ///< CUmemoryPool
  /// Bytes that a trim leaves, the value of an attribute, a new pool's largest size (0: no limit); what is
  /// beyond int64 is its maximum.
  std::int64_t value = 0;
  std::uint32_t attribute = 0;  ///< CUmemPool_attribute
  std::uint32_t thread = 0;     ///< gettid
  std::int32_t device = -1;     ///< of the pool, where the call names it
  PoolOperationKind kind = PoolOperationKind::kUnknown;
  std::uint8_t reserved[3] = {};
};

/// One allocation that an operation names.
struct AccessEntry {
  std::uint64_t allocation = 0;
  std::int64_t offset = 0;  ///< bytes into the allocation of the address that was seen
  std::int64_t bytes = 0;   ///< 0: extent unknown, may reach to the end
  AccessKind kind = AccessKind::kUnknown;
  KnownBy known_by = KnownBy::kUnknown;
  std::uint16_t argument_offset = 0;  ///< where in the launch arguments the address stood, bytes
  std::uint32_t reserved = 0;
};

/// Hook: what an operation may touch. Followed by `count` AccessEntry.
struct AccessRecord {
  static constexpr RecordKind kKind = RecordKind::kAccess;
  std::int64_t time_ns = 0;
  std::uint64_t operation = 0;
  std::uint64_t count = 0;
};

/// A wait of the program for the GPU.
struct SyncRecord {
  static constexpr RecordKind kKind = RecordKind::kSync;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t context_id = 0;
  std::uint32_t stream_id = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t thread = 0;  ///< 0 where CUPTI does not tell
  std::uint64_t event = 0;
  SyncKind kind = SyncKind::kUnknown;
  std::uint8_t reserved[7] = {};
};

/// An NVTX range or mark.
struct MarkerRecord {
  static constexpr RecordKind kKind = RecordKind::kMarker;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;  ///< equal to time_ns for instants
  StringId name = 0;
  StringId domain = 0;
  std::uint64_t id = 0;
  std::uint32_t thread = 0;
  MarkerKind kind = MarkerKind::kUnknown;
  std::uint8_t reserved[3] = {};
};

/// A sampled hardware counter, over an interval.
struct CounterRecord {
  static constexpr RecordKind kKind = RecordKind::kCounter;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  StringId counter = 0;  ///< such as "pcie__read_bytes.sum"
  double value = 0;      ///< in the counter's unit, over the interval
  std::int32_t device = -1;
  std::uint32_t reserved = 0;
};

/// A movement of the runtime's own, in one piece.
struct TransferRecord {
  static constexpr RecordKind kKind = RecordKind::kTransfer;
  std::int64_t time_ns = 0;  ///< submitted
  std::int64_t wait_ns = 0;  ///< that the submitting thread had to wait before it
  std::uint64_t allocation = 0;
  std::uint64_t operation = 0;  ///< on whose behalf, 0: ahead of need
  std::int64_t offset = 0;      ///< bytes into the allocation
  std::int64_t bytes = 0;
  std::uint64_t stream = 0;    ///< the runtime's stream
  std::uint64_t sequence = 0;  ///< n-th copy of that stream
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::uint8_t reserved[3] = {};
};

/// An operation that had to wait for memory.
struct GateRecord {
  static constexpr RecordKind kKind = RecordKind::kGate;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;  ///< when the calling thread went on
  std::uint64_t operation = 0;
  std::int64_t fetch_bytes = 0;  ///< that it needed brought in
  std::int64_t room_bytes = 0;   ///< that had to leave for it
  std::int32_t device = -1;
  std::uint32_t on_gpu = 0;  ///< 1: the stream waits by an event; 0: only the thread waited
};

/// CUPTI's unified-memory events.
struct UmEventRecord {
  static constexpr RecordKind kKind = RecordKind::kUmEvent;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;                                    ///< migrations
  std::int64_t count = 0;                                    ///< fault groups
  std::int32_t source_device = -1, destination_device = -1;  ///< -1: host
  std::uint32_t cause = 0;                                   ///< CUpti_ActivityUnifiedMemoryMigrationCause
  UmEventKind kind = UmEventKind::kUnknown;
  std::uint8_t reserved[3] = {};
};

/// Time that recording itself took.
struct OverheadRecord {
  static constexpr RecordKind kKind = RecordKind::kOverhead;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  StringId what = 0;
  std::uint32_t thread = 0;
  std::uint32_t reserved = 0;
};

/// CUPTI: a call of the driver's or the runtime's API (`--api`).
struct ApiCallRecord {
  static constexpr RecordKind kKind = RecordKind::kApiCall;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;
  StringId name = 0;  ///< such as "cuMemAlloc_v2"
  std::uint32_t correlation_id = 0;
  std::uint32_t thread = 0;
  std::uint32_t result = 0;  ///< what the call returned
  std::uint32_t reserved = 0;
};

/// CUPTI: NVLink between two GPUs, in all its lanes together.
struct NvlinkRecord {
  static constexpr RecordKind kKind = RecordKind::kNvlink;
  std::int64_t time_ns = 0;
  std::uint8_t first_uuid[16] = {}, second_uuid[16] = {};
  std::int64_t bytes_per_second = 0;  ///< each way
  std::uint32_t links = 0;            ///< physical ones
  std::uint32_t version = 0;
};

/// A part of the job that was recorded because `--range` asked for it; outside of these nothing was.
struct RangeRecord {
  static constexpr RecordKind kKind = RecordKind::kRange;
  std::int64_t time_ns = 0;
  std::int64_t end_ns = 0;   ///< 0: still open when the recording stopped
  StringId what = 0;         ///< as `--range` said it
  std::uint64_t number = 0;  ///< from 0
};

/// Something that is missing, told by whoever noticed. What the spool itself drops stands in its status page
/// instead.
struct LossRecord {
  static constexpr RecordKind kKind = RecordKind::kLoss;
  std::int64_t time_ns = 0;  ///< first
  std::int64_t end_ns = 0;   ///< last
  std::int64_t count = 0;    ///< -1: unknown how many
  StringId detail = 0;       ///< in words, for the report
  RecordKind what = RecordKind::kNone;
  LossReason reason = LossReason::kUnknown;
  std::uint8_t reserved[5] = {};
};

/// What can be appended to a spool.
template <typename T>
concept SpoolRecord = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && sizeof(T) % 8 == 0 &&
                      alignof(T) == 8 && std::same_as<std::remove_cv_t<decltype(T::kKind)>, RecordKind>;

}  // namespace tferry::trace
