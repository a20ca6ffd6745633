#pragma once

#include "cuda/driver.hpp"
#include "trace/copy_route.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace tferry::runtime {

/// Copies between host memory and a GPU that go by another GPU's link: piece by piece through a ring of
/// stages in the neighbour's memory. The neighbour's copy engine moves a piece between host and stage, the
/// GPU's own one between stage and its memory, and events hand the pieces over, so that both are at work at
/// once. Stages are mapped for both GPUs (cuMemSetAccess), so the program's own peer access is neither needed
/// nor changed; no multicast.
///
/// To whoever queues it such a copy is one in the stream given: it comes behind everything before and ahead
/// of everything after it. Where the driver refuses a part, all of the copy is made directly, behind what was
/// queued, and so are all later ones.
///
/// Costs on the neighbour, beside its budget: a context, and kStages pieces of 4 MiB each way (fewer bytes
/// where it has no room). Under the runtime's lock, with the GPU's own context current.
class NeighbourLink {
 public:
  /// Null, and why, where no neighbour can be used: none is visible (CUDA_VISIBLE_DEVICES), none reaches this
  /// GPU, its context or the stages are not to be had.
  static std::unique_ptr<NeighbourLink> open(const cuda::Driver& driver, CUdevice own, trace::CopyRoute route,
                                             std::string& why);
  ~NeighbourLink();
  NeighbourLink(const NeighbourLink&) = delete;
  NeighbourLink& operator=(const NeighbourLink&) = delete;

  CUresult copy_in(CUdeviceptr target, const void* source, std::size_t bytes, CUstream stream);
  CUresult copy_out(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream);

  CUdevice via() const { return via_; }
  trace::CopyRoute::Way way() const { return way_; }
  /// The detour was given up.
  bool broken() const { return broken_; }
  /// The neighbour's context is about to end: waits for what is queued, and makes all further copies
  /// directly.
  void give_up();

  static constexpr std::size_t kStages = 8;
  static constexpr std::size_t kPiece = std::size_t{4} << 20;

 private:
  struct Stage {
    CUdeviceptr address = 0;
    CUevent filled = nullptr;   ///< recorded by who writes to it
    CUevent emptied = nullptr;  ///< by who reads it
    bool used = false;
  };
  /// One direction.
  struct Lane {
    CUstream own = nullptr;  ///< of this GPU: between stage and its memory
    CUstream far = nullptr;  ///< of the neighbour: between host and stage
    CUevent begin = nullptr;
    CUevent end = nullptr;
    std::array<Stage, kStages> stages;
    std::size_t next = 0;
  };

  NeighbourLink(const cuda::Driver& driver, CUdevice own, CUdevice via, trace::CopyRoute::Way way);
  bool make(std::string& why);
  bool make_stages(std::size_t total);
  bool make_lane(Lane& lane, bool in, CUdeviceptr stages);
  /// How many bytes of a copy go by the neighbour.
  std::size_t share(std::size_t bytes) const;
  bool relay_in(CUdeviceptr target, const std::byte* source, std::size_t bytes, std::size_t relayed,
                CUstream stream);
  bool relay_out(std::byte* target, CUdeviceptr source, std::size_t bytes, std::size_t relayed,
                 CUstream stream);
  bool begin(const Lane& lane, CUstream first, CUstream stream);
  bool wait(CUstream stream, CUevent event);
  bool record(CUevent event, CUstream stream);
  void release();

  const cuda::Driver& driver_;
  CUdevice own_, via_;
  trace::CopyRoute::Way way_;
  CUcontext context_ = nullptr;  ///< the neighbour's
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr memory_ = 0;
  std::size_t memory_bytes_ = 0;
  bool mapped_ = false;
  std::size_t piece_ = kPiece;
  Lane in_, out_;
  bool broken_ = false;
};

}  // namespace tferry::runtime
