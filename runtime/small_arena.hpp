#pragma once

#include "cuda/driver.hpp"
#include "runtime/moment.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// Small allocations, carved from blocks that always stay on the device: moving them would cost more calls
/// than bytes. Sizes are rounded to classes (multiples of 512 bytes, then eighths of a power of two); a freed
/// piece is used again for its own class only.
///
/// Launches that name only small allocations are not gated, so a piece must not be used again while another
/// stream may still read it: with several streams the oldest free piece is taken, and only when everything
/// that was queued when it was freed has ended (ALGORITHMS.md, rule 13). Under the runtime's lock.
class SmallArena {
 public:
  struct Allocation {
    CUdeviceptr address;
    std::size_t size;       ///< of its class: what the budget counts
    std::size_t requested;  ///< what the program asked for
    std::uint64_t buffer_id;
    bool stream_ordered;
    bool held = false;  ///< not used again before `release_held`
  };
  struct Source {
    std::function<CUdeviceptr(std::size_t bytes)> more;  ///< `bytes` of resident device memory, or 0
    std::function<bool(const Moments&)> reusable;  ///< may contents freed at these moments be overwritten now
    std::function<bool(const Moments&)> wait;      ///< until they may; false: that cannot be waited for
  };

  SmallArena(Source source, std::size_t slab_size) : source_(std::move(source)), slab_size_(slab_size) {}

  /// Largest size that is served here: half a slab.
  std::size_t largest() const { return slab_size_ / 2; }
  std::optional<Allocation> allocate(std::size_t bytes, std::uint64_t buffer_id, bool stream_ordered);
  /// The allocation that holds this address, interior addresses included.
  const Allocation* find(CUdeviceptr address);
  /// Takes back the allocation that begins at `address`; its memory is used again after `free_after`.
  std::optional<Allocation> free(CUdeviceptr address, const Moments& free_after);

  /// A captured graph may use the allocation at this address, freed or not: its memory is not used again
  /// before `release_held`.
  void hold(CUdeviceptr address);
  /// Ends all holds; what was freed meanwhile is used again after `free_after`.
  void release_held(const Moments& free_after);

  static std::size_t class_size(std::size_t bytes);

 private:
  struct Free {
    CUdeviceptr address;
    Moments after;
  };
  /// A piece keeps its place and class for ever, so a slab's table of them only grows.
  struct Piece {
    Allocation allocation;  ///< the last one
    bool live = false;
  };
  struct Slab {
    CUdeviceptr begin;
    std::vector<std::uint32_t> piece_at;  ///< by granule, in pieces_; as far as pieces were cut
  };

  Slab* slab_of(CUdeviceptr address);
  Piece* piece_of(CUdeviceptr address);
  /// A new piece of the newest slab, or of one more.
  CUdeviceptr cut(std::size_t size);
  void put_back(const Allocation& allocation, const Moments& free_after);

  Source source_;
  std::size_t slab_size_;
  std::vector<Slab> slabs_;  ///< by address
  CUdeviceptr newest_ = 0;   ///< slab that pieces are cut from
  CUdeviceptr slab_next_ = 0;
  std::size_t slab_left_ = 0;
  std::deque<Piece> pieces_;
  std::vector<Allocation> held_;  ///< freed under a hold
  std::unordered_map<std::size_t, std::deque<Free>> free_;
};

}  // namespace tferry::runtime
