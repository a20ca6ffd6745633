// The part of DeviceMemory that has its copies recorded, and a few iterations under a plan.
#include "runtime/device_memory.hpp"

namespace tferry::runtime {
namespace {

constexpr int kSettlingIterations = 2;  ///< under a plan, before those that are watched
constexpr int kWatchedIterations = 3;

}  // namespace

/// Some iterations are recorded with all their times once the plan has settled, for planned against actual.
/// Copies are from an iteration before, since what left then is away when these begin. In one after them only
/// allocations and frees are recorded: what they have allocated is freed there.
void DeviceMemory::watch_iterations() {
  if (watch_ == nullptr) return;
  constexpr int kLast = kSettlingIterations + kWatchedIterations;
  iterations_in_place_ = following() ? iterations_in_place_ + 1 : 0;
  watching_ = iterations_in_place_ > kSettlingIterations && iterations_in_place_ <= kLast;
  watching_copies_ = watching_ || iterations_in_place_ == kSettlingIterations;
  if (iterations_in_place_ <= kLast + 1 || !watch_->idle()) return;
  recorder_->close();
  watch_ = nullptr;
  recorder_ = nullptr;
}

/// A copy is about to be submitted.
DeviceMemory::SubmittedCopy DeviceMemory::before_copy(CUstream stream) {
  if (recorder_ == nullptr || (watch_ != nullptr && !watching_copies_)) return {};
  return {StatusPage::now_ns(), watch_ != nullptr ? watch_->begin_copy(stream) : nullptr};
}

/// It was, of these pieces, as number `sequence` of its stream.
void DeviceMemory::note_copy(trace::TransferKind kind, const Block& block,
                             std::span<const std::uint32_t> pieces, CUstream stream, StreamIndex index,
                             std::uint64_t sequence, const SubmittedCopy& copy) {
  if (copy.ns == 0) return;
  const auto bytes = static_cast<std::int64_t>(pieces.size() * chunk_size());
  recorder_->transfer(kind, block, pieces.front(), bytes, chunk_size(), stream, sequence, copy.ns, ahead_);
  const bool out = kind == trace::TransferKind::kPark;
  if (watch_ != nullptr)
    watch_->end_copy(copy.timing, stream, index, ordinal_,
                     out ? trace::CopyKind::kDeviceToHost : trace::CopyKind::kHostToDevice, bytes, copy.ns);
}

}  // namespace tferry::runtime
