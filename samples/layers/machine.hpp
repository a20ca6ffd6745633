#pragma once

#include "samples/layers/affine.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The layers sample: passes over many buffers, forward and backward like training, written once
/// (schedule.hpp) against the interface below and carried out by a GPU (samples/cuda/layers.cu by the CUDA
/// runtime, samples/driver/layers.cpp by the driver API) and by HostModel, which knows the right answer.
namespace tferry::samples {

using BufferId = int;
using StreamId = int;
using EventId = int;

/// A buffer is worked on as a whole or by quarters: those make copies within buffers, interior pointers and
/// memsets that leave the rest of a buffer alone.
inline constexpr int kParts = 4;

struct Part {
  BufferId buffer = 0;
  int index = 0;  ///< 0 .. kParts - 1
};

/// What `combine` computes for every element i of its buffers:
///   x = in[i];  `work` times: x = factor * x + 1;  out[i] = x + weight[i] + bias[0]
struct Combine {
  BufferId in = 0;
  BufferId weight = 0;
  BufferId bias = 0;  ///< a small buffer, not `out`
  BufferId out = 0;   ///< may be `in` or `weight`
  std::uint64_t factor = 1;
  int work = 1;
};

/// Where the schedule is carried out. Operations on a stream run in its order; streams run beside each other
/// unless events order them. All operations may return before they have happened, but for `release`,
/// `upload_table`, `sums` and `read`. Errors end in std::runtime_error with the library's own name and text.
/// Used by one thread.
class Machine {
 public:
  virtual ~Machine() = default;

  /// `count` elements of 8 bytes, contents undefined. `name` is for messages.
  virtual BufferId allocate(const std::string& name, std::uint64_t count) = 0;
  /// As cudaFree: everything queued on any stream may still use the buffer.
  virtual void release(BufferId buffer) = 0;

  virtual void fill(StreamId stream, BufferId buffer, Affine values) = 0;
  virtual void combine(StreamId stream, const Combine& operation) = 0;
  /// From page-locked host memory. At most one at a time: `synchronize` comes before the next.
  virtual void upload(StreamId stream, Part part, Affine values) = 0;
  virtual void copy(StreamId stream, Part from, Part to) = 0;
  virtual void clear(StreamId stream, Part part, std::uint8_t byte) = 0;

  /// Writes the addresses of `buffers` into device memory, where kernels find them; no launch names them any
  /// more.
  virtual void upload_table(const std::vector<BufferId>& buffers) = 0;
  /// x = factor * x + constant for every element of every buffer in the table.
  virtual void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) = 0;

  virtual void record(EventId event, StreamId stream) = 0;
  virtual void wait(StreamId stream, EventId event) = 0;
  virtual void synchronize() = 0;

  virtual Sums sums(StreamId stream, BufferId buffer) = 0;
  /// Elements first .. first + count - 1, after everything queued.
  virtual std::vector<std::uint64_t> read(BufferId buffer, std::uint64_t first, std::uint64_t count) = 0;
};

}  // namespace tferry::samples
