#pragma once

#include "cuda/driver.hpp"
#include "runtime/block_store.hpp"
#include "runtime/chunk_pool.hpp"
#include "runtime/host_pool.hpp"
#include "runtime/status_page.hpp"
#include "runtime/stream_table.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>

namespace tferry::runtime {

/// TFERRY_VERIFY=1: proves at every move that nothing else touched what was moved (ALGORITHMS.md, rule 10).
/// - A parked piece's address is mapped to a trap, one chunk for all, filled with a pattern. A write that the
/// runtime
///   did not see lands there and is found at the next move; a read sees the pattern, and the program's
///   results differ.
/// - Contents are hashed when they have arrived in host memory, before they leave it, and after they are
/// back.
/// - Freed chunks are filled with the pattern.
/// Every move waits on the host, so audit mode is slow. Under the runtime's lock.
class Audit {
 public:
  Audit(const cuda::Driver& driver, ChunkPool& pool, StatusPage& status, trace::DeviceStatus& counters)
      : driver_(driver), pool_(pool), status_(status), counters_(counters) {}

  /// Makes the trap, before the program has any memory: later a free chunk may already be meant for somebody.
  /// Where the card has no room, contents are still hashed, but writes that nobody announced are not found.
  void set_trap();
  void on_parked(Block& block, std::span<const std::uint32_t> pieces, BlockStore& store, HostPool& host,
                 StreamTable& streams, Moment copied);
  void before_fetch(Block& block, std::span<const std::uint32_t> pieces, HostPool& host,
                    StreamTable& streams);
  void after_fetch(Block& block, std::span<const std::uint32_t> pieces, StreamTable& streams, Moment copied);
  void on_free(ChunkId chunk, const Moments& after, StreamTable& streams, StreamIndex stream);

 private:
  void check_trap();
  void check(bool good, const Block& block, const char* what);

  const cuda::Driver& driver_;
  ChunkPool& pool_;
  StatusPage& status_;
  trace::DeviceStatus& counters_;
  Block trap_owner_;
  ChunkId trap_ = kNoChunk;
  std::vector<std::byte> seen_;                            ///< scratch of one chunk
  std::unordered_map<CUdeviceptr, std::uint64_t> hashes_;  ///< of parked contents, by the piece's address
};

}  // namespace tferry::runtime
