#pragma once

#include "samples/layers/machine.hpp"
#include "samples/layers/options.hpp"

#include <cstdint>
#include <functional>

namespace tferry::samples {

/// Called after every iteration with its number, the checksum of its last gradient and its duration.
using IterationReport = std::function<void(int iteration, const Sums& gradient, std::int64_t nanoseconds)>;

/// The job: weights that stay, and in every iteration
///   forward   a new activation a layer, from the one before, the layer's weight and a small bias; now and
///   then a copy
///             within it on the copy stream, and a memset of a quarter of it on the side stream, ordered by
///             events;
///   hidden    a kernel that changes some weights, whose addresses it finds in a table in device memory;
///   backward  a new gradient a layer from the gradient before and the layer's activation, the weight changed
///   by it,
///             and both freed.
/// At the peak `options.buffers` large buffers are alive. Returns the checksum over all weights, biases and
/// the last gradient of every iteration. At least four buffers; streams are numbered from 0, events likewise.
Sums run_layers(const LayersOptions& options, Machine& machine, const IterationReport& report);

/// Number of events that run_layers uses.
inline constexpr int kEvents = 8;

/// Elements of the small buffers that run_layers allocates: 4 KiB to 256 KiB.
inline std::uint64_t small_count(int layer) { return std::uint64_t{512} << (layer % 7); }

/// Bytes alive at the peak, computed by the model alone.
std::uint64_t peak_bytes(const LayersOptions& options);

}  // namespace tferry::samples
