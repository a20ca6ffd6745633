#pragma once

#include "trace/copy_route.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tferry::trace {

/// What a job under `tferry run` tells the launcher while it runs: one file per process, `status.PID` in the
/// run directory, mapped shared by the job and read by the launcher, so that it is complete up to the last
/// store even after SIGKILL. Sizes are bytes, times nanoseconds of CLOCK_MONOTONIC. Only the job writes;
/// every field is a lock-free atomic, written relaxed. A file with another magic or version is not read.
inline constexpr std::uint64_t kJobStatusMagic = 0x5359'5252'4546'5401;  // "\1TFERRYS"
inline constexpr std::uint32_t kJobStatusVersion = 6;
inline constexpr int kMaxDevices = 16;

/// Why an allocation stays in GPU memory whatever the pressure. Order is the file format.
enum class ResidentReason : std::uint8_t {
  kSmall,       ///< below the movable size
  kNeverNamed,  ///< no launch named it yet, so nothing is known about who reaches it
  kPointedTo,   ///< its address stands in device memory, where kernels can follow it unseen
  kCaptured,    ///< allocated, freed or named while a stream was capturing
  kShared,      ///< exported, registered or asked for by handle
  kCollective,  ///< may be given to NCCL
  kForeign,     ///< made by a call that the runtime passes on (managed, imported, arrays)
  kCount
};

/// Counters of one device. "Managed" memory here is the program's memory under the runtime's care, not CUDA
/// managed.
struct DeviceStatus {
  using Counter = std::atomic<std::int64_t>;
  Counter budget;          ///< 0: this device was never used
  Counter budget_source;   ///< a BudgetSource
  Counter card_total;      ///< as cuMemGetInfo told at the first context
  Counter card_free;       ///< the same
  Counter chunk_size;      ///< of one device handle
  Counter allocated;       ///< live bytes of the program, rounded as the budget counts them
  Counter allocated_peak;  ///< the largest of these: the footprint
  Counter resident;        ///< device bytes held for the program
  Counter resident_peak;   ///< never above the budget
  Counter parked;          ///< bytes whose only copy is in host memory
  Counter parked_peak;
  Counter host_slabs;        ///< pinned host bytes held
  Counter bytes_out;         ///< copied to host memory so far
  Counter bytes_in;          ///< fetched back so far
  Counter evictions;         ///< number of pieces out
  Counter fetches;           ///< number of pieces in
  Counter gated_operations;  ///< launches and copies that had to wait for a fetch or for room
  Counter host_waits;        ///< times that the calling thread itself had to wait
  Counter host_wait_ns;      ///< how long in sum
  Counter remaps;            ///< chunks mapped anew after their allocation was made
  Counter remap_ns;
  Counter mappings;        ///< chunk mappings made in all
  Counter operations;      ///< launches, copies and memsets seen
  Counter allocations;     ///< allocation calls served
  Counter out_of_memory;   ///< allocation calls answered with out-of-memory
  Counter driver_retries;  ///< driver calls repeated after memory was released
  Counter audit_checks;    ///< audit mode: contents compared
  Counter audit_failures;  ///< audit mode: contents that differed
  Counter scans;           ///< device memory scans for hidden pointers
  Counter scan_ns;

  // Following a plan (trace/flat_plan.hpp). Everything is counted from its adoption on, over all plans.
  Counter plan_state;                ///< a PlanState
  Counter plan_adoptions;            ///< plans put in place; one may be adopted again after it was left
  Counter plan_iterations;           ///< iterations that ended under an adopted plan
  Counter plan_iterations_followed;  ///< those of them in which every operation was where the plan says
  Counter plan_operations;           ///< operations seen under an adopted plan
  Counter plan_matched;              ///< those of them that were found in the plan
  Counter plan_departures;           ///< times that the operations left the plan
  Counter plan_rejoins;              ///< times that they were found in it again
  Counter plan_actions_due;          ///< leave and return steps of matched operations
  Counter plan_actions_done;         ///< those of them after which the pieces were where the plan wants them
  Counter plan_placed;               ///< allocations that got the place that the plan has for them
  Counter plan_conflicts;            ///< allocations of the plan whose place was not free
  Counter plan_surprises;            ///< allocations not of the plan that took room from it
  Counter plan_late_fetches;         ///< pieces fetched because an operation named them, not by a step
  Counter plan_late_bytes;
  Counter plan_mappings;         ///< chunk mappings made in iterations under the plan
  Counter plan_set_up_mappings;  ///< chunk mappings made for adopting it and for putting pieces back
  Counter plan_bytes_out;        ///< parked in followed iterations
  Counter plan_bytes_in;         ///< fetched in followed iterations
  Counter
      plan_iterations_timed;  ///< followed ones whose time is in the next two: not the first, nor the last
  Counter plan_last_ns;       ///< from the end of one to the end of the next, by the GPU's clock
  Counter plan_measured_ns;   ///< their sum
  Counter plan_off_timed;     ///< the same of iterations that did not do exactly what the plan says
  Counter plan_off_ns;        ///< their sum
  Counter plan_predicted_ns;  ///< of an iteration, as the plan in place says; 0: unknown, and so below
  Counter plan_bound_ns;
  Counter plan_in_memory_ns;
  Counter plan_forced_bytes;  ///< an iteration must move at least these, both directions together

  // Taking turns with other ranks (docs/coordination.md). All zero where that is off or never came about.
  Counter slot_members;   ///< most GPUs, of all ranks, that took turns on this GPU's link, itself included
  Counter slot_rank;      ///< local rank + 1; 0: not known
  Counter slots_asked;    ///< transfers that were ready and asked for a turn
  Counter slots_granted;  ///< of them, those that got it
  Counter slots_used;     ///< turns that ended within the lease
  Counter slots_ahead;    ///< transfers let through without asking, because nobody else waited
  Counter slots_expired;  ///< turns that lasted longer than the lease and were taken away
  Counter slot_wait_ns;   ///< between asking and getting it, in sum

  // By which way contents move (docs/coordination.md).
  Counter route;       ///< a RouteTaken
  Counter plan_route;  ///< the same of the plan in place: what it was made for
  Counter resident_count[static_cast<int>(
      ResidentReason::kCount)];  ///< live allocations that cannot move, by reason
  Counter resident_bytes[static_cast<int>(ResidentReason::kCount)];
};

/// By which links contents moved. The first three are those of CopyRoute::Way, in that order.
enum class RouteTaken : std::int64_t {
  kUnknown = 0,
  kDirect = 1,     ///< by the GPU's own
  kNeighbour = 2,  ///< by a neighbour's
  kBoth = 3,
  kLeft = 4  ///< by a neighbour's (as well), until that was given up, and by its own since
};

constexpr RouteTaken route_taken(CopyRoute::Way way) {
  return static_cast<RouteTaken>(static_cast<std::int64_t>(way) + 1);
}

/// What has become of the plan.
enum class PlanState : std::int64_t {
  kNone = 0,       ///< there is none
  kLooking = 1,    ///< the job's operations were not yet found in it
  kObserving = 2,  ///< they are found in it; what they name is being learnt
  kFollowing = 3,  ///< adopted, and the job does what it says
  kAstray = 4,     ///< adopted, but the job does something else at the moment
  kForeign = 5,    ///< it is for another program; still looked for
  kRefused = 6,    ///< it cannot be adopted here; `message` says why
  kCostly = 7      ///< left for good: iterations were faster without it
};

enum class BudgetSource : std::int64_t { kAuto, kBytes, kPercent, kUnlimited };

/// How far the runtime got in this process. Each stage implies the ones before.
enum class JobStage : std::int64_t {
  kLoaded = 1,       ///< the library is in the process
  kDriverFound = 2,  ///< the program opened the CUDA driver and a hook was handed out or called
  kHooked = 3,       ///< a hook was called
  kManaging = 4,     ///< at least one allocation was served by the runtime
  kOff = 5           ///< the runtime stepped aside; `message` says why
};

struct JobStatus {
  std::uint64_t magic = kJobStatusMagic;
  std::uint32_t version = kJobStatusVersion;
  std::uint32_t size = 0;  ///< sizeof(JobStatus) of the writer
  std::atomic<std::int64_t> pid;
  std::atomic<std::int64_t> stage;          ///< a JobStage
  std::atomic<std::int64_t> driver_loaded;  ///< 1 when libcuda was found among the loaded objects at the end
  std::atomic<std::int64_t> started_ns;
  std::atomic<std::int64_t> ended_ns;  ///< 0 while it runs, and for ever after SIGKILL
  char command[128] = {};              ///< program name only (no arguments, which may hold secrets)
  char message[512] = {};              ///< last failure of ours in words, or empty
  DeviceStatus device[kMaxDevices];
};
static_assert(std::is_standard_layout_v<JobStatus>);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// `operations.PID` beside it: a ring of the last operations, from which the launcher finds the iterations.
inline constexpr std::uint64_t kOperationLogMagic = 0x4f59'5252'4546'5401;  // "\1TFERRYO"
inline constexpr std::uint32_t kOperationLogVersion = 1;

struct OperationEntry {
  std::int64_t time_ns;     ///< when the call was made, CLOCK_MONOTONIC
  std::uint32_t signature;  ///< OperationSignature (trace/flat_plan.hpp), halves combined
  std::uint16_t device;
  std::uint16_t flags;        ///< bit 0: had to wait for a fetch
  std::uint32_t fetched_kib;  ///< fetched on behalf of this operation
  std::uint32_t parked_kib;   ///< sent out since the operation before
};
static_assert(sizeof(OperationEntry) == 24);

struct OperationLogHeader {
  std::uint64_t magic = kOperationLogMagic;
  std::uint32_t version = kOperationLogVersion;
  std::uint32_t entry_size = sizeof(OperationEntry);
  std::uint64_t capacity = 0;          ///< entries in the ring
  std::atomic<std::uint64_t> written;  ///< entries ever written; entry n lies at n % capacity
};

}  // namespace tferry::trace
