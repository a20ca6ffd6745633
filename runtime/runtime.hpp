#pragma once

#include "cuda/driver.hpp"
#include "cuda/function_info.hpp"
#include "runtime/access_probe.hpp"
#include "runtime/address_space.hpp"
#include "runtime/capture_guard.hpp"
#include "runtime/config.hpp"
#include "runtime/coordination/coordinator.hpp"
#include "runtime/device_memory.hpp"
#include "runtime/managed_memory.hpp"
#include "runtime/operation.hpp"
#include "runtime/operation_timer.hpp"
#include "runtime/other_memory.hpp"
#include "runtime/page_probe.hpp"
#include "runtime/plan_source.hpp"
#include "runtime/status_page.hpp"
#include "runtime/stream_table.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace tferry::runtime {

/// The process-wide runtime: what the hooks talk to. It exists only because C entry points need something to
/// reach; everything that decides lies in DeviceMemory.
///
/// One mutex guards all books. It is held while copies, events and mappings are submitted, never while a call
/// of the program's own is passed on: an operation is acquired under it, submitted without it, and released
/// under it.
class Runtime {
 public:
  /// The runtime, made at the first call; null when it is off, stepped aside, or there is no driver.
  static Runtime* active();
  /// Reads the environment, opens the status page and installs the hooks. From the library's constructor.
  static void load();
  /// In a forked child: the parent's device and files are not ours.
  static void leave_child();
  /// At the end of the process: what was recorded is in the spool, and the spool says that it is whole.
  static void end_recording();
  /// At the end of the process: no other rank waits for a turn of ours.
  static void end_coordination();
  static StatusPage& status();

  CUresult allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address);
  /// Takes back memory of ours; nullopt: not ours. `stream` orders the free for stream-ordered ones; without
  /// it the free is ordered behind everything queued on every stream (ALGORITHMS.md, rule 13).
  std::optional<CUresult> free(CUdeviceptr address, const CUstream* stream, bool per_thread);

  /// Begins an operation on a stream; `collect` is called under the lock with the operation and adds what it
  /// names.
  template <class Collect>
  CUresult begin(Operation& operation, CUstream stream, bool per_thread, Collect collect);
  void end(Operation& operation, bool submitted);

  /// Adds the block behind an address, if it is one of ours that needs gating.
  void name(Operation& operation, CUdeviceptr address, trace::AccessKind kind = trace::AccessKind::kMayTouch,
            std::int64_t bytes = 0) {
    if ((config_.managed || pages_) && (name_managed(operation, address, kind, bytes) || config_.managed))
      return;
    if (!space_.contains(address)) {
      if (other_memory_ && operation.recording) note_other(operation, address, kind, bytes);
      return;
    }
    const auto& memory = devices_[static_cast<std::size_t>(space_.device_of(address))];
    if (!memory) return;
    const DeviceMemory::Named named = memory->named(address, operation.recording);
    if (named.gated != nullptr) {
      operation.add(named.gated);
    } else if (operation.capturing) {
      hold_small(address);
    }
    if (!operation.recording) return;
    note_access(operation, named, address, kind, bytes,
                operation.is_launch ? trace::KnownBy::kArgument : trace::KnownBy::kCall);
  }
  /// `note` is called, where the whole job is recorded, with what is known of memory that stays the driver's
  /// and the current device, -1 for none.
  template <class Note>
  void with_other_memory(Note note);
  /// Words of host memory about to be copied to the device: what they point to can be reached unseen.
  /// Under the lock (from `collect`).
  void scan_host_words(Operation& operation, const void* source, std::size_t bytes);
  /// The block behind this address stays on the device from now on; where it cannot, the operation must not
  /// run. Under the lock (from `collect`).
  void pin_down(Operation& operation, CUdeviceptr address, trace::ResidentReason reason);
  void keep_resident(CUdeviceptr address, trace::ResidentReason reason);
  /// As keep_resident, for users whose launches do not name the memory: the stream that they will run in
  /// waits until the contents are there and all earlier users are done; without a stream, or while anyone
  /// captures, the calling thread does. False when it cannot be brought in.
  bool hand_over(CUdeviceptr address, trace::ResidentReason reason, const CUstream* stream = nullptr);

  std::optional<AllocationView> view(CUdeviceptr address);
  /// What launches do to memory is tried; null: it is not.
  AccessProbe* access_probe() { return probe_.get(); }
  /// What launches touch is watched, page by page; null: it is not.
  PageProbe* page_probe() { return pages_ && pages_->watching() ? pages_.get() : nullptr; }
  /// Launches so that it is watched.
  CUresult watch_pages(Operation& operation, CUstream waited_for, const PageProbe::Launch& launch);
  /// To be held while a call of the program's is passed on: not while a launch is tried again.
  std::shared_lock<std::shared_timed_mutex> beside_probe() {
    if (probe_) return probe_->beside();
    return page_probe() != nullptr ? pages_->beside() : std::shared_lock<std::shared_timed_mutex>();
  }
  /// A word that lies where the program's memory does.
  bool is_address(std::uint64_t word) const { return space_.contains(word); }
  const cuda::FunctionInfo* function_info(CUfunction function) { return functions_.find(driver_, function); }
  void forget_functions() { functions_.forget_all(); }

  /// A kernel of NCCL was launched, whose buffers its arguments do not name. With NCCL's entry points hooked,
  /// the buffers are known already; without (NCCL linked in statically) everything has to stay. Under the
  /// lock (from `collect`).
  void collective_launched(Operation& operation);
  void collective_calls_seen() { collective_calls_seen_.store(true, std::memory_order_relaxed); }
  /// A launch whose parameters cannot be read: it may touch anything. Under the lock (from `collect`).
  void unreadable_launch(Operation& operation);

  /// kUnknown where the driver does not tell.
  enum class CaptureState { kNo, kYes, kUnknown };
  CaptureState is_capturing(CUstream stream, bool per_thread) const;
  void stream_created(CUstream stream);
  void stream_destroyed(CUstream stream);
  /// Before the driver begins it.
  void capture_began(CUstream stream, bool per_thread);
  void capture_ended(CUgraph graph);
  void graph_instantiated(CUgraph graph, CUgraphExec exec);
  void graph_destroyed(void* graph_or_exec);
  void graph_launch_waits(Operation& operation);
  /// Its nodes name, as they were when it was instantiated; where the job is recorded. Under the lock (from
  /// `collect`).
  void name_nodes(Operation& operation, CUgraphExec exec);

  void peer_enabled(CUcontext peer);
  void context_ended(CUcontext context);
  void device_reset(CUdevice device);

  /// After a driver call failed for want of memory: gives some back to the card. True if it is worth trying
  /// again.
  bool relieve();
  /// Bytes held for the program on the current device but not in use by it.
  std::size_t idle_bytes();
  bool pool_statistics(CUmemoryPool pool, std::uint64_t& current, std::uint64_t& high);
  /// While lazy copies of ours are under way, waiting for the context would wait for them too: waits for the
  /// program's streams instead. False where that is not so, or cannot be done, and the driver's own wait is
  /// the one to use.
  bool wait_for_program(CUresult& result);

 private:
  Runtime(const cuda::Driver& driver, const Config& config, StatusPage& status);

  DeviceMemory* current_device(bool create);
  ManagedMemory* current_managed(bool create);
  ManagedMemory* managed_at(CUdeviceptr address) const;
  /// False: it is none of managed memory.
  bool name_managed(Operation& operation, CUdeviceptr address, trace::AccessKind kind, std::int64_t bytes);
  CUresult allocate_explicit(std::size_t bytes, bool stream_ordered, CUdeviceptr* address);
  bool fits_beside(const ManagedMemory& managed, std::size_t bytes);
  Block* gated(CUdeviceptr address) const {
    const int device = space_.device_of(address);
    const auto& memory = devices_[static_cast<std::size_t>(device)];
    return memory ? memory->find_gated(address) : nullptr;
  }
  void note_other(Operation& operation, CUdeviceptr address, trace::AccessKind kind, std::int64_t bytes);
  static void note_access(Operation& operation, const DeviceMemory::Named& named, CUdeviceptr address,
                          trace::AccessKind kind, std::int64_t bytes, trace::KnownBy known_by);
  /// Operations are recorded. For a plan that is made while the job runs: until one is in place, or the spool
  /// is full; of a job that is watched: those of the iterations that are.
  bool recording() const {
    if (!recorder_ || !timer_) return recorder_ != nullptr;
    return config_.watch ? watching_ : !following_ && !recorder_->over();
  }
  CUresult acquire(Operation& operation, std::unique_lock<std::mutex>& lock);
  DeviceMemory* device_of(const Operation& operation) const;
  int ordinal_of(const Operation& operation) const;
  Moment stamp(StreamIndex stream);
  void hold_small(CUdeviceptr address);
  std::vector<trace::AccessEntry> entries_of(const std::vector<CUdeviceptr>& addresses) const;
  bool read_node(CUgraphNode node, std::vector<CUgraph>& children, std::vector<CUdeviceptr>& named);
  void stop_moving(Operation& operation, const char* why);
  void maybe_release_captured();

  const cuda::Driver& driver_;
  const Config& config_;
  StatusPage& status_;
  std::mutex mutex_;
  std::condition_variable pins_dropped_;
  int in_flight_ = 0;
  int waiting_ = 0;
  StreamTable streams_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<OtherMemory> other_memory_;  ///< null: the job is not recorded, or for a plan only
  std::unique_ptr<AccessProbe> probe_;
  std::unique_ptr<PageProbe> pages_;       ///< there from the start, or never
  std::unique_ptr<OperationTimer> timer_;  ///< null: nothing is timed, and all is recorded or nothing
  bool swapping_ = false;                  ///< something had to leave the device
  bool following_ = false;                 ///< a plan is in place
  bool watching_ = false;                  ///< and this iteration is recorded
  PlanSource plans_;
  Coordinator* coordinator_ = nullptr;  ///< null: transfers take no turns
  int planned_device_ = -1;             ///< the first device used: plans are for one
  AddressSpace space_;
  std::array<std::unique_ptr<DeviceMemory>, trace::kMaxDevices> devices_;
  std::array<std::unique_ptr<ManagedMemory>, trace::kMaxDevices> managed_;
  std::array<bool, trace::kMaxDevices> refused_{};
  std::array<bool, trace::kMaxDevices> unpaged_{};  ///< no managed memory for the pass by pages
  std::array<std::int64_t, trace::kMaxDevices>
      logged_out_{};  ///< bytes out when the last operation was logged
  std::atomic<bool> collective_calls_seen_{false};
  cuda::FunctionTable functions_;
  std::unordered_set<void*> graphs_;  ///< graphs and executables alive that may name captured memory
  std::unordered_map<void*, std::vector<trace::AccessEntry>> named_by_graph_;  ///< by executable
};

template <class Note>
void Runtime::with_other_memory(Note note) {
  if (!other_memory_) return;
  CUdevice device = 0;
  const bool known = driver_.cuCtxGetDevice(&device) == CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  note(*other_memory_, known ? static_cast<int>(device) : -1);
}

template <class Collect>
CUresult Runtime::begin(Operation& operation, CUstream stream, bool per_thread, Collect collect) {
  std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  operation.recording = recording();
  operation.reset();
  if (operation.recording) operation.details.begin_ns = StatusPage::now_ns();
  const CaptureState state = is_capturing(stream, per_thread);
  if (state == CaptureState::kUnknown) return CUDA_ERROR_UNKNOWN;
  operation.capturing = state == CaptureState::kYes;
  operation.stream = streams_.find(stream, per_thread, operation.capturing);
  collect(operation);
  const bool timed = timer_ && swapping_ && operation.recording;
  if (timed && config_.watch) timer_->arrive(operation);
  const CUresult result = acquire(operation, lock);
  if (result == CUDA_SUCCESS) ++in_flight_;
  if (result == CUDA_SUCCESS && timed) timer_->begin(operation);
  if (operation.recording) operation.details.ready_ns = StatusPage::now_ns();
  return result;
}

/// The calling thread's operation, used again and again. Null inside another operation of this thread: what
/// the driver or we call from within is not the program's.
class ThreadOperation {
 public:
  ThreadOperation() : nested_(busy_) { busy_ = true; }
  ~ThreadOperation() {
    if (!nested_) busy_ = false;
  }
  ThreadOperation(const ThreadOperation&) = delete;
  ThreadOperation& operator=(const ThreadOperation&) = delete;
  Operation* get() const { return nested_ ? nullptr : &operation_; }

 private:
  static thread_local bool busy_;
  static thread_local Operation operation_;
  bool nested_;
};

/// Passes one call of the program on, as an operation: brings in what it names, orders it, submits it, notes
/// its use.
template <class Collect, class Call>
CUresult operate(CUstream stream, bool per_thread, Collect collect, Call call) {
  Runtime* runtime = Runtime::active();
  const ThreadOperation scope;
  Operation* operation = scope.get();
  if (runtime == nullptr || operation == nullptr) return call();
  const CUresult ready =
      runtime->begin(*operation, stream, per_thread, [&](Operation& o) { collect(*runtime, o); });
  if (ready != CUDA_SUCCESS) return ready;
  CUresult result = CUDA_SUCCESS;
  {
    // Launches see to it themselves.
    const auto hold =
        operation->is_launch ? std::shared_lock<std::shared_timed_mutex>() : runtime->beside_probe();
    result = call();
    for (int tries = 0; result == CUDA_ERROR_OUT_OF_MEMORY && tries < 3 && runtime->relieve(); ++tries)
      result = call();
  }
  runtime->end(*operation, result == CUDA_SUCCESS);
  return result;
}

/// Passes a call on that names no memory of ours but may need some; tried again after memory was given back.
template <class Call>
CUresult with_retry(Call call) {
  CUresult result = call();
  Runtime* runtime = result == CUDA_ERROR_OUT_OF_MEMORY ? Runtime::active() : nullptr;
  for (int tries = 0;
       runtime != nullptr && result == CUDA_ERROR_OUT_OF_MEMORY && tries < 3 && runtime->relieve(); ++tries) {
    result = call();
  }
  return result;
}

}  // namespace tferry::runtime
