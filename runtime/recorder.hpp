#pragma once

#include "cuda/function_info.hpp"
#include "runtime/block.hpp"
#include "runtime/moment.hpp"
#include "trace/records.hpp"
#include "trace/spool_writer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// What the hooks tell the recorder of one operation, beside what it names.
struct OperationDetails {
  enum class Kind : std::uint8_t { kOther, kLaunch, kCopy, kSet, kGraph };
  Kind kind = Kind::kOther;
  const cuda::FunctionInfo* function = nullptr;
  trace::Dim3 grid, block;
  std::uint32_t shared_bytes = 0;
  CUdeviceptr destination = 0;
  CUdeviceptr source = 0;
  std::int64_t bytes = 0;
  trace::CopyKind copy = trace::CopyKind::kUnknown;
  bool asynchronous = false;
  std::uint32_t value = 0;
  std::uint64_t graph = 0;
  std::int64_t begin_ns = 0;  ///< the call came in
  std::int64_t ready_ns = 0;  ///< it was passed on to the driver
  std::int64_t homed_from_ns = 0,
               homed_to_ns = 0;  ///< memory was brought to the host for it (page_probe.hpp)
  std::int64_t homed_bytes = 0;  ///< so much of it; none of the three: it was not watched
  std::vector<trace::AccessEntry> accesses;

  void reset() {
    auto kept = std::move(accesses);
    *this = {};
    accesses = std::move(kept);
    accesses.clear();
  }
};

/// When an operation ran, and what activity records call it.
struct ActivityTimes {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t stream = 0;  ///< an id of ours
  int device = 0;
};

/// Writes what the program asked for, and what the runtime moved, to `spool.PID.runtime.N`
/// (trace/spool_writer.hpp). Under the runtime's lock; appending neither allocates nor waits.
class Recorder {
 public:
  /// Null, with a reason, when the spool cannot be opened: the job goes on unrecorded.
  /// `size_limit` bytes is the most that the spool takes, 0: no limit; of a time `keep_last_ns` only the last
  /// is kept, 0: everything.
  static std::unique_ptr<Recorder> open(const std::string& directory, std::size_t size_limit,
                                        std::size_t keep_last_ns, std::string& error);

  /// Writes everything and ends; what comes later is not recorded. Once, from any thread.
  void close() { spool_->close(); }
  /// So much was lost that the rest is worth nothing: the spool is full, or its disk does not keep up.
  bool over() const { return spool_->dropped() > kMostDropped; }

  void device(const cuda::Driver& driver, int ordinal, std::int64_t memory_bytes);
  void own_stream(CUstream stream, int ordinal);
  void allocation(std::uint64_t id, CUdeviceptr address, std::size_t bytes, std::size_t reserved, int device,
                  bool stream_ordered, bool movable, bool captured);
  /// Memory that stays the driver's; `device` is -1 for the host's, of which `numa_node` may be known, else
  /// -1.
  void other_allocation(std::uint64_t id, trace::AllocationApi api, trace::MemoryKind kind, int numa_node,
                        std::uint64_t address, std::size_t bytes, int device);
  void free(std::uint64_t id);
  /// Of the calling thread.
  void pool_operation(trace::PoolOperationRecord call);
  /// The operation was submitted as number `sequence` (from 0) of its stream.
  void operation(const OperationDetails& details, CUstream stream, Sequence sequence, int device,
                 bool captured, std::int64_t fetched, std::int64_t parked);
  /// The GPU, or the calling thread only, waited with the operation of that number from one time to the
  /// other.
  void gate(std::uint64_t operation, std::int64_t start_ns, std::int64_t end_ns, int device,
            std::int64_t fetched, std::int64_t parked, bool on_gpu = true);
  /// The activity records of operations on this stream name it by this id from now on.
  void activity_stream(CUstream stream, int device, std::uint32_t id, trace::StreamOwner owner);
  /// An operation ran.
  void activity(const OperationDetails& details, const ActivityTimes& times);
  /// The number that the operation being acquired will have.
  std::uint64_t next_operation() const { return operations_ + 1; }
  /// Submitted at `submit_ns`; `ahead`: of need, not on behalf of the operation being acquired.
  void transfer(trace::TransferKind kind, const Block& block, std::uint32_t first_piece, std::int64_t bytes,
                std::size_t chunk_size, CUstream stream, std::uint64_t sequence, std::int64_t submit_ns,
                bool ahead);

  static std::uint64_t handle_of(CUstream stream) {
    return stream == CU_STREAM_LEGACY ? 0 : reinterpret_cast<std::uint64_t>(stream);
  }

 private:
  static constexpr std::int64_t kMostDropped = 1000;  ///< records

  explicit Recorder(std::unique_ptr<trace::SpoolWriter> spool) : spool_(std::move(spool)) {}
  trace::StringId name_of(const cuda::FunctionInfo* function);

  std::unique_ptr<trace::SpoolWriter> spool_;
  std::unordered_map<const cuda::FunctionInfo*, trace::StringId> names_;
  std::uint64_t operations_ = 0;
};

}  // namespace tferry::runtime
