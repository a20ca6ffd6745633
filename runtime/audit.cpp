#include "runtime/audit.hpp"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tferry::runtime {
namespace {

constexpr unsigned char kPattern = 0xA5;

}  // namespace

void Audit::check(bool good, const Block& block, const char* what) {
  count(counters_.audit_checks);
  if (good) return;
  count(counters_.audit_failures);
  status_.say(0, "audit: %s: allocation of %zu bytes at %#llx", what, block.requested,
              static_cast<unsigned long long>(block.address));
}

void Audit::set_trap() {
  seen_.resize(pool_.chunk_size());
  const std::size_t limit = pool_.limit();
  pool_.set_limit(limit + 1);  // the trap is not the program's
  if (pool_.grow(1) == 0) {
    pool_.set_limit(limit);
    return;
  }
  trap_ = pool_.pick_free(1, false).front();
  pool_.set_owner(trap_, &trap_owner_, 0);
  driver_.cuMemsetD8_v2(pool_.alias(trap_), kPattern, pool_.chunk_size());
}

void Audit::check_trap() {
  if (driver_.cuMemcpyDtoH_v2(seen_.data(), pool_.alias(trap_), seen_.size()) != CUDA_SUCCESS) return;
  const bool clean =
      std::all_of(seen_.begin(), seen_.end(), [](std::byte value) { return value == std::byte{kPattern}; });
  check(clean, trap_owner_, "a parked allocation was written by an operation that did not name it");
  if (!clean) driver_.cuMemsetD8_v2(pool_.alias(trap_), kPattern, pool_.chunk_size());
}

void Audit::on_parked(Block& block, std::span<const std::uint32_t> pieces, BlockStore& store, HostPool& host,
                      StreamTable& streams, Moment copied) {
  streams.wait_on_host(copied);
  if (trap_ != kNoChunk) check_trap();
  for (const std::uint32_t index : pieces) {
    Piece& piece = block.pieces[index];
    const CUdeviceptr address = block.address + index * pool_.chunk_size();
    hashes_[address] = XXH3_64bits(host[piece.slot].address, pool_.chunk_size());
    if (trap_ == kNoChunk) continue;
    const ChunkId before = piece.chunk;
    store.remap(block, index, trap_);
    --pool_[before].claims;
    if (piece.chunk != kNoChunk) ++pool_[piece.chunk].claims;
  }
}

void Audit::before_fetch(Block& block, std::span<const std::uint32_t> pieces, HostPool& host, StreamTable&) {
  if (trap_ != kNoChunk) check_trap();
  for (const std::uint32_t index : pieces) {
    const auto known = hashes_.find(block.address + index * pool_.chunk_size());
    if (known == hashes_.end()) continue;
    check(known->second == XXH3_64bits(host[block.pieces[index].slot].address, pool_.chunk_size()), block,
          "parked contents changed in host memory");
  }
}

void Audit::after_fetch(Block& block, std::span<const std::uint32_t> pieces, StreamTable& streams,
                        Moment copied) {
  streams.wait_on_host(copied);
  for (const std::uint32_t index : pieces) {
    const auto known = hashes_.find(block.address + index * pool_.chunk_size());
    if (known == hashes_.end()) continue;
    if (driver_.cuMemcpyDtoH_v2(seen_.data(), pool_.alias(block.pieces[index].chunk), seen_.size()) ==
        CUDA_SUCCESS) {
      check(known->second == XXH3_64bits(seen_.data(), seen_.size()), block, "contents came back changed");
    }
    hashes_.erase(known);
  }
}

void Audit::on_free(ChunkId chunk, const Moments& after, StreamTable& streams, StreamIndex stream) {
  streams.wait(stream, after);
  if (driver_.cuMemsetD8Async(pool_.alias(chunk), kPattern, pool_.chunk_size(), streams.handle(stream)) !=
      CUDA_SUCCESS) {
    return;
  }
  pool_[chunk].free_after.clear();
  pool_[chunk].free_after.add(streams.stamp(stream));
}

}  // namespace tferry::runtime
