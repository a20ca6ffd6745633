#include "runtime/small_arena.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tferry::runtime {
namespace {

constexpr std::size_t kGranule = 512;  ///< what cuMemAlloc aligns to

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

}  // namespace

std::size_t SmallArena::class_size(std::size_t bytes) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), kGranule);
  const std::size_t step = std::bit_floor(bytes) / 8;
  return step <= kGranule ? bytes : round_up(bytes, step);
}

std::optional<SmallArena::Allocation> SmallArena::allocate(std::size_t bytes, std::uint64_t buffer_id,
                                                           bool stream_ordered) {
  const std::size_t size = class_size(bytes);
  CUdeviceptr address = 0;
  auto& free = free_[size];
  // What was freed and is still in use may fill one slab for each class; then the program waits, as it would
  // have waited in the driver's own cuMemFree. Without that bound a program that runs far ahead of the GPU
  // would take slab after slab.
  const bool many = free.size() * size >= slab_size_;
  if (!free.empty() && (source_.reusable(free.front().after) || (many && source_.wait(free.front().after)))) {
    address = free.front().address;
    free.pop_front();
  } else {
    address = cut(size);
    if (address == 0) return std::nullopt;
  }
  Piece& piece = *piece_of(address);
  piece = {{address, size, bytes, buffer_id, stream_ordered, false}, true};
  return piece.allocation;
}

CUdeviceptr SmallArena::cut(std::size_t size) {
  if (slab_left_ < size) {
    const CUdeviceptr begin = source_.more(slab_size_);
    if (begin == 0) return 0;
    // What is left of the old slab is less than this class; it is given up.
    const auto after =
        std::upper_bound(slabs_.begin(), slabs_.end(), begin,
                         [](CUdeviceptr address, const Slab& slab) { return address < slab.begin; });
    slabs_.insert(after, {begin, {}});
    newest_ = slab_next_ = begin;
    slab_left_ = slab_size_;
  }
  const CUdeviceptr address = slab_next_;
  slab_next_ += size;
  slab_left_ -= size;
  slab_of(address)->piece_at.resize((slab_next_ - newest_) / kGranule,
                                    static_cast<std::uint32_t>(pieces_.size()));
  pieces_.emplace_back();
  return address;
}

SmallArena::Slab* SmallArena::slab_of(CUdeviceptr address) {
  const auto after =
      std::upper_bound(slabs_.begin(), slabs_.end(), address,
                       [](CUdeviceptr wanted, const Slab& slab) { return wanted < slab.begin; });
  return after != slabs_.begin() ? &*std::prev(after) : nullptr;
}

SmallArena::Piece* SmallArena::piece_of(CUdeviceptr address) {
  const Slab* slab = slab_of(address);
  if (slab == nullptr) return nullptr;
  const std::size_t granule = (address - slab->begin) / kGranule;
  return granule < slab->piece_at.size() ? &pieces_[slab->piece_at[granule]] : nullptr;
}

const SmallArena::Allocation* SmallArena::find(CUdeviceptr address) {
  const Piece* piece = piece_of(address);
  return piece != nullptr && piece->live ? &piece->allocation : nullptr;
}

std::optional<SmallArena::Allocation> SmallArena::free(CUdeviceptr address, const Moments& free_after) {
  Piece* piece = piece_of(address);
  if (piece == nullptr || !piece->live || piece->allocation.address != address) return std::nullopt;
  piece->live = false;
  if (piece->allocation.held) {
    held_.push_back(piece->allocation);
  } else {
    put_back(piece->allocation, free_after);
  }
  return piece->allocation;
}

void SmallArena::put_back(const Allocation& allocation, const Moments& free_after) {
  Free& free = free_[allocation.size].emplace_back();
  free.address = allocation.address;
  free.after.assign(free_after);
}

void SmallArena::hold(CUdeviceptr address) {
  Piece* piece = piece_of(address);
  if (piece != nullptr && piece->live) piece->allocation.held = true;
}

void SmallArena::release_held(const Moments& free_after) {
  for (Piece& piece : pieces_) piece.allocation.held = false;
  for (const Allocation& allocation : held_) put_back(allocation, free_after);
  held_.clear();
}

}  // namespace tferry::runtime
