#pragma once

#include "tests/software_driver/device.hpp"
#include "tests/software_driver/work.hpp"

#include <cuda.h>

#include <cstddef>
#include <memory>

namespace tferry::software_driver {

/// Memory of a device's heap. When there is none it waits for stream-ordered frees that are under way, if
/// any, and tries again.
std::shared_ptr<DeviceHeap::Range> heap_range(Device& device, std::size_t size);

/// Where a copy begins or ends.
enum class Side { kHost, kDevice, kEither };

/// A box of bytes: `width` per row, `height` rows, `depth` slices, in memory with the given strides.
struct Box {
  Address base = 0;
  std::size_t row_stride = 0;
  std::size_t slice_stride = 0;
};
struct Extent {
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
};

/// The work of one copy, done when the stream comes to it. The direction, and with it engine and rate, follow
/// from where both ends lie now; an end said to be on the device that no reservation or allocation holds
/// throws CUDA_ERROR_INVALID_VALUE.
Work copy_work(Device& device, const Box& to, Side to_side, const Box& from, Side from_side,
               const Extent& extent);
inline Work copy_work(Device& device, Address to, Side to_side, Address from, Side from_side,
                      std::size_t size) {
  return copy_work(device, Box{to, size, size}, to_side, Box{from, size, size}, from_side,
                   Extent{size, 1, 1});
}

/// The work of a copy as cuMemcpy2D and cuMemcpy3D describe it, from the current context's device. Arrays
/// throw CUDA_ERROR_NOT_SUPPORTED.
Work planar_copy(const CUDA_MEMCPY2D& copy);
Work spatial_copy(const CUDA_MEMCPY3D& copy);
Work spatial_copy(const CUDA_MEMCPY3D_PEER& copy);

/// The work of one memset: `extent.width` elements of `element` bytes a row.
Work set_work(const Box& to, unsigned value, std::size_t element, const Extent& extent);

}  // namespace tferry::software_driver
