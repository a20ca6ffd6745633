#pragma once

#include "analyzer/simulator/memory.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tferry::analyzer {

/// What a policy can have done. Orders that make no sense any more when their turn comes are left out.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual const Memory& memory() const = 0;
  /// Bytes of all tensors that were ordered out and have not gone yet.
  virtual std::int64_t leaving() const = 0;
  /// Lets the last `bytes` of what the tensor has on the card leave: at once where host memory has them or
  /// nobody needs them, else by a transfer after those ordered before. Nothing happens to a tensor in use.
  virtual void page_out(std::uint32_t tensor, std::int64_t bytes) = 0;
  /// Brings in what is missing, up to `bytes`, when there is room; earlier `due` first. Due is the position
  /// of the operation that needs it, counted from the beginning of the simulation.
  virtual void prefetch(std::uint32_t tensor, std::int64_t bytes, std::uint64_t due) = 0;
};

/// Decides what leaves the card and when it returns. Called in simulated time; positions count operations
/// from the beginning, so position % operations is the operation. One object serves one simulation.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  /// An operation that uses the tensor is being launched.
  virtual void launching(std::uint32_t tensor, std::uint64_t position) = 0;
  /// It has ended on the GPU.
  virtual void finished(std::uint64_t position, Mover& mover) = 0;
  /// Room is needed for the operation being launched: whose bytes shall leave? Only a tensor with evictable()
  /// > 0.
  virtual std::optional<std::uint32_t> victim(const Memory& memory, std::uint64_t position) = 0;
  /// Whether to ask for victims only when no running operation and no ordered transfer will free memory any
  /// more.
  virtual bool patient() const { return false; }
  /// `bytes` of the victim leave.
  virtual void evicted(std::uint32_t tensor, std::int64_t bytes) = 0;
  /// How many operations may be launched beyond the one that runs: launched ones hold their tensors.
  virtual std::uint64_t run_ahead(std::uint64_t usual) const { return usual; }
};

}  // namespace tferry::analyzer
