#pragma once

#include "cuda/driver.hpp"
#include "runtime/address_space.hpp"
#include "runtime/audit.hpp"
#include "runtime/block_store.hpp"
#include "runtime/chunk_pool.hpp"
#include "runtime/config.hpp"
#include "runtime/coordination/coordinator.hpp"
#include "runtime/device_plan.hpp"
#include "runtime/host_pool.hpp"
#include "runtime/iteration_timer.hpp"
#include "runtime/neighbour_link.hpp"
#include "runtime/operation.hpp"
#include "runtime/operation_timer.hpp"
#include "runtime/plan_source.hpp"
#include "runtime/pointer_scan.hpp"
#include "runtime/reclaim_memory.hpp"
#include "runtime/recorder.hpp"
#include "runtime/small_arena.hpp"
#include "runtime/status_page.hpp"
#include "runtime/stream_table.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tferry::runtime {

/// Allocations are numbered from a multiple of this on each device.
inline constexpr std::uint64_t kBuffersOfDevice = std::uint64_t{1} << 40;

/// What the outside may know of an allocation.
struct AllocationView {
  CUdeviceptr address;
  std::size_t size;  ///< as the program asked for
  std::uint64_t buffer_id;
  int device;
  bool stream_ordered;
};

/// The program's memory on one device, under a budget.
///
/// Everything is decided in the order in which the program submits its calls, on the calling thread, and
/// carried out by the GPU in the order of events: an operation that names a parked block gets a fetch
/// submitted to the in stream and a wait in its own stream; room for it is made by copies on the out stream
/// that wait for the last use of what leaves. The calling thread itself never waits for a copy, so the
/// program's run-ahead becomes prefetch distance, and the queues of both engines hold copies in the order of
/// their deadlines. What is chosen to leave is the least recently used; a piece keeps its address's mapping
/// when it leaves, so that coming back into the same chunk costs no mapping call: in a training step, where
/// the last activation saved is the first one used, most pieces do.
///
/// Invariants: every chunk has at most one owner; a piece on the device owns the chunk mapped at its address;
/// device memory held is at most the limit; a block that is pinned, not movable or not live is never evicted.
///
/// Under the runtime's lock, with the device's context current. Driver calls made under it neither wait for
/// the GPU nor for the program, except `wait_on_host` in the stated rare cases (counted as host waits).
class DeviceMemory {
 public:
  struct Environment {
    const cuda::Driver& driver;
    const Config& config;
    StatusPage& status;
    StreamTable& streams;
    Recorder* recorder;                  ///< null: nothing is recorded
    PlanSource* plans;                   ///< null: none are followed on this device
    Coordinator* coordinator = nullptr;  ///< null: transfers take no turns with those of other ranks
    OperationTimer* watch = nullptr;     ///< null: no iterations under a plan are watched
  };

  DeviceMemory(Environment environment, int ordinal, CUdevice device, CUcontext context);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Reads the card, fixes budget and chunk size, makes the streams. False: this device is left to the
  /// driver.
  bool open(AddressSpace& space, int devices);

  /// Memory for the program. CUDA_ERROR_OUT_OF_MEMORY when neither the budget nor host memory can hold it.
  CUresult allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address);
  /// Takes back an allocation; what was queued at `free_after` may still use it. False: the address is not
  /// the beginning of a live allocation of ours.
  bool free(CUdeviceptr address, const Moments& free_after);

  /// The block that holds this address and is gated (arena blocks are not); null for others.
  Block* find_gated(CUdeviceptr address) const;
  /// What an operation that has this address among its arguments names.
  struct Named {
    Block* gated = nullptr;       ///< null: nothing that moves
    std::uint64_t buffer_id = 0;  ///< 0: nothing live, or a small allocation that was not asked for
    CUdeviceptr address = 0;      ///< at which the allocation begins
  };
  Named named(CUdeviceptr address, bool small_ones) const;
  std::optional<AllocationView> view(CUdeviceptr address) const;

  /// Brings what the operation names onto the device and orders it behind what must come first. On failure
  /// nothing stays pinned. Retriable failures (others hold pins) are told apart by CUDA_ERROR_NOT_READY.
  CUresult acquire(Operation& operation, std::span<Block* const> blocks);
  /// Ends an acquire: the operation was submitted as `moment`, or not at all (nullptr).
  void release(std::span<Block* const> blocks, const Operation& operation, const Moment* moment);

  /// Looks the operation up in the plan, once, before its first acquire. `blocks`: what it names, in the
  /// order of its arguments. For operations of this device only, like the next two.
  void plan_begin(Operation& operation, std::span<Block* const> blocks);
  /// After its acquire: fetches what the plan has returning before this operation.
  void plan_fetch(Operation& operation);
  /// After its release: parks what the plan, or the policy, has leaving after it. `submitted` false, without
  /// an acquire: it was given up.
  void plan_end(Operation& operation, bool submitted);

  /// The block stays on the device from now on, for this reason, and is brought there if it was parked.
  CUresult keep_resident(Block& block, trace::ResidentReason reason);
  /// Tells why an operation that names `pieces` pieces could not have them all, with the figures.
  void say_why_not(std::size_t pieces) const;
  void keep_resident_address(CUdeviceptr address, trace::ResidentReason reason);
  /// Ends every capture hold: blocks freed under it are freed, the others may move again.
  void release_captured();
  const Moments& captured_pending() const { return captured_pending_; }

  /// From now on nothing moves, and what is parked comes back: something reaches memory that the runtime
  /// cannot see. False when it does not all fit; then whatever asked for this must not run.
  bool stop_moving(const char* why);

  /// Gives device memory back to the card for a driver call that found none. Returns the bytes released.
  std::size_t shrink(std::size_t bytes);
  void add_peer(CUdevice peer);
  /// That GPU's context is about to end: no copy goes by its link any more.
  void neighbour_ended(CUdevice neighbour);

  /// A plan is in place.
  bool planned() const { return plan_ != nullptr && plan_->follower.adopted(); }
  /// The iteration under way is recorded, because it follows the plan and the job is watched.
  bool watching() const { return watching_ && planned(); }
  int ordinal() const { return ordinal_; }
  CUcontext context() const { return context_; }
  std::size_t chunk_size() const { return pool_->chunk_size(); }
  std::size_t idle_bytes() const { return pool_->free_count() * pool_->chunk_size(); }
  std::size_t allocated_bytes() const { return allocated_; }
  std::size_t allocated_peak() const { return allocated_peak_; }
  bool has_copies_in_flight();

 private:
  // allocation
  Block* find_place(std::size_t pieces);
  Block* clean_block(std::size_t pieces, bool claimed);
  Block* block_under_pressure(std::size_t pieces);
  Block* make_block(std::size_t pieces);
  void activate(Block& block);
  void release_block(Block& block, const Moments& free_after);
  bool promise_host_memory(std::size_t more_pieces);
  bool grow_by(std::size_t chunks);
  void trim_mappings();
  void set_reason(Block& block, trace::ResidentReason reason);
  void account(std::int64_t bytes);
  bool wait_for_reuse(const Moments& after);

  // residency
  bool bring_in(Operation& operation, Block& block);
  bool settle_piece(Operation& operation, Block& block, std::uint32_t piece);
  bool make_room(std::size_t chunks, std::int64_t& parked_bytes);
  bool evict(Block& block, std::span<const std::uint32_t> pieces);
  void open_detour();
  void close_detour();
  void took_route(trace::CopyRoute::Way way);
  bool by_route_of(const trace::FlatPlan& plan) const;
  CUresult move_in(CUdeviceptr target, const void* source, std::size_t bytes);
  CUresult move_out(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream);
  void note_detour();
  std::size_t most_pieces_of_a_copy() const;
  bool copy_out(Block& block, std::span<const std::uint32_t> pieces, SlotPass& pass);
  bool park_some(Block& block, std::size_t chunks, std::int64_t& parked_bytes);
  bool evictable(const Block& block) const;
  struct SubmittedCopy {
    std::int64_t ns = 0;       ///< 0: it is not recorded
    CUevent timing = nullptr;  ///< of the timer
  };
  SubmittedCopy before_copy(CUstream stream);
  void note_copy(trace::TransferKind kind, const Block& block, std::span<const std::uint32_t> pieces,
                 CUstream stream, StreamIndex index, std::uint64_t sequence, const SubmittedCopy& copy);
  bool submit_fetch(Block& block, std::span<const std::uint32_t> pieces);
  void look_for_hidden_pointers();
  void keep_room_ahead(Operation& operation);
  void park_idle(std::size_t chunks);
  void reclaim_again(const Operation& operation);
  bool settle_in(Block& block, std::uint32_t piece, ChunkId chunk);
  bool remap(Block& block, std::uint32_t piece, ChunkId chunk);
  void wait_for_users(const Block& block);
  std::size_t release_free_chunks(std::size_t chunks);

  // following a plan (planned.cpp)
  void take_plan(std::shared_ptr<const PlanIndex> index);
  void refuse_plan(const DevicePlan& plan, const char* why);
  void look_for_later_plan();
  bool following() const { return plan_ != nullptr && plan_->follower.following(); }
  Block* block_of(const DevicePlan& plan, std::uint32_t tensor) const;
  PlanFollower::Place place_in_plan(const Operation& operation) const;
  void count_late(const Operation& operation, const Block& block);
  std::int64_t slack_of(const trace::FlatPlan::Step& step) const;
  bool bring_back(Block& block, const trace::FlatPlan::Step& step);
  bool take_back(Block& block, std::uint32_t piece);
  bool send_away(Block& block, const trace::FlatPlan::Step& step);
  void restore(std::uint32_t position);
  void restore(std::uint32_t position, bool leaving);
  void plan_boundary(CUstream stream, bool of_plan);
  void judge_plan();
  bool all_change_to(DevicePlan& plan);
  void complain_about_plan();
  void note_plan_state();
  void account_iteration();
  void time_iteration(CUstream stream);
  void begin_iteration();
  void watch_iterations();
  Block* planned_place(std::size_t bytes);
  Block* unplanned_place(std::size_t pieces);
  bool repair(Block& block);
  void count_set_up(std::int64_t mappings_before);
  void plan_allocated(const Block& block);
  void plan_freed(CUdeviceptr address);
  void keep_planned(Block& block);
  void note_intruder(const Block& block, ChunkId chunk) {
    if (!block.planned && (*pool_)[chunk].planned && plan_) plan_->intruded = true;
  }

  // putting it in place (plan_adoption.cpp)
  struct PlanHolder {
    Block* block;
    std::uint32_t tensor;
  };
  void adopt_plan();
  std::vector<PlanHolder> plan_holders() const;
  std::vector<ChunkId> chunks_for_plan(std::span<const PlanHolder> holders);
  void assign_homes(std::span<const PlanHolder> holders, std::span<const ChunkId> available);
  void put_in_plan(Block& block, std::uint32_t tensor, std::uint32_t address);
  void take_out_of_plan(Block& block);
  bool go_home(Block& block, std::uint32_t piece);
  void wait_for_evictions();
  void make_planned_blocks();
  void put_back();
  bool renew_places();
  void drive_out();
  std::vector<std::pair<Block*, std::uint32_t>> displaced_pieces();
  void leave_plan();

  const cuda::Driver& driver_;
  const Config& config_;
  StatusPage& status_;
  trace::DeviceStatus& counters_;
  StreamTable& streams_;
  Recorder* recorder_;
  PlanSource* plans_;
  Coordinator* coordinator_;
  OperationTimer* watch_;
  std::unique_ptr<NeighbourLink> detour_;  ///< null: copies go by the GPU's own link
  std::unique_ptr<LinkGates> gates_;       ///< null: transfers take no turns
  std::int64_t fetch_slack_ = 0;           ///< of the fetches that are being submitted
  int ordinal_;
  CUdevice device_;
  CUcontext context_;
  bool may_evict_ = true;
  std::size_t movable_size_ = 0;

  std::unique_ptr<ChunkPool> pool_;
  std::unique_ptr<BlockStore> store_;
  std::unique_ptr<HostPool> host_;
  std::unique_ptr<SmallArena> arena_;
  std::unique_ptr<PointerScan> scan_;
  std::unique_ptr<Audit> audit_;
  UseOrder order_;
  CUstream in_handle_ = nullptr;
  CUstream scan_handle_ = nullptr;
  std::uint64_t copies_in_ = 0;  ///< copies submitted to the in stream so far
  StreamIndex in_ = 0;
  /// Evictions take turns between two streams, each copy behind an event of the one before: the engine then
  /// looks at other channels between any two, and a small copy of the program waits for one of ours instead
  /// of for all that could run ahead of it (0.1 to 0.3 ms behind a gibibyte instead of 19, at 0.8 % of the
  /// rate; docs/results/experiments.md). One stream that waits between its copies does not do it.
  struct OutLane {
    CUstream handle = nullptr;
    StreamIndex stream = 0;
    std::uint64_t copies = 0;  ///< submitted so far
  };
  std::array<OutLane, 2> out_;
  std::size_t out_turn_ = 0;        ///< the lane of the next eviction
  std::optional<Moment> last_out_;  ///< of the last one
  StreamIndex scan_stream_ = 0;
  std::uint64_t tick_ = 0;
  std::uint64_t next_scan_ = 0;
  std::uint64_t next_buffer_id_ = 1;
  std::size_t live_pieces_ = 0;
  std::size_t allocated_ = 0;
  std::size_t allocated_peak_ = 0;
  std::size_t headroom_ = 0;  ///< chunks kept free ahead of need while the job swaps
  bool swapping_ = false;
  Moments captured_pending_;
  std::vector<Block*> captured_;
  std::unique_ptr<ReclaimMemory> reclaim_;  ///< for the policy that repeats evictions; null: another
  std::unique_ptr<DevicePlan> plan_;        ///< looked for, observed or adopted
  std::unique_ptr<DevicePlan> later_plan_;  ///< observed while plan_ is adopted, to replace it
  std::uint64_t plan_serial_ = 0;
  IterationTimer iteration_timer_;
  std::uint64_t operations_since_look_ = 0;
  int iterations_in_place_ = 0;  ///< in a row under the plan, until they have been watched
  bool watching_ = false;
  bool watching_copies_ = false;
  bool ahead_ = false;                   ///< what is being moved is moved ahead of need
  std::vector<NamedAllocation> named_;   // scratch
  std::vector<std::uint32_t> arriving_;  // scratch
  std::vector<std::uint32_t> leaving_;   // scratch
  bool settling_ = false;                ///< a block's pieces have chunks, but not all their contents yet
};

}  // namespace tferry::runtime
