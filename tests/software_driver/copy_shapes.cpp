#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/memory_operations.hpp"

namespace tferry::software_driver {
namespace {

struct End {
  Address base;
  Side side;
};

/// One end of a 2D or 3D copy. Arrays are not there.
End end_of(CUmemorytype type, const void* host, CUdeviceptr device) {
  if (type == CU_MEMORYTYPE_HOST) return {reinterpret_cast<Address>(host), Side::kHost};
  require(type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED, CUDA_ERROR_NOT_SUPPORTED);
  return {device, type == CU_MEMORYTYPE_DEVICE ? Side::kDevice : Side::kEither};
}

std::size_t pitch_or_width(std::size_t pitch, std::size_t width) { return pitch ? pitch : width; }

template <class Copy>
Work spatial(const Copy& copy) {
  const End to = end_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
  const End from = end_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
  const std::size_t to_pitch = pitch_or_width(copy.dstPitch, copy.WidthInBytes);
  const std::size_t from_pitch = pitch_or_width(copy.srcPitch, copy.WidthInBytes);
  const std::size_t to_slice = to_pitch * pitch_or_width(copy.dstHeight, copy.Height);
  const std::size_t from_slice = from_pitch * pitch_or_width(copy.srcHeight, copy.Height);
  const Box to_box{to.base + copy.dstZ * to_slice + copy.dstY * to_pitch + copy.dstXInBytes, to_pitch,
                   to_slice};
  const Box from_box{from.base + copy.srcZ * from_slice + copy.srcY * from_pitch + copy.srcXInBytes,
                     from_pitch, from_slice};
  return copy_work(current_context()->device(), to_box, to.side, from_box, from.side,
                   {copy.WidthInBytes, copy.Height, copy.Depth});
}

}  // namespace

Work planar_copy(const CUDA_MEMCPY2D& copy) {
  const End to = end_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
  const End from = end_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
  const std::size_t to_pitch = pitch_or_width(copy.dstPitch, copy.WidthInBytes);
  const std::size_t from_pitch = pitch_or_width(copy.srcPitch, copy.WidthInBytes);
  const Box to_box{to.base + copy.dstY * to_pitch + copy.dstXInBytes, to_pitch, 0};
  const Box from_box{from.base + copy.srcY * from_pitch + copy.srcXInBytes, from_pitch, 0};
  return copy_work(current_context()->device(), to_box, to.side, from_box, from.side,
                   {copy.WidthInBytes, copy.Height, 1});
}

Work spatial_copy(const CUDA_MEMCPY3D& copy) { return spatial(copy); }

Work spatial_copy(const CUDA_MEMCPY3D_PEER& copy) { return spatial(copy); }

}  // namespace tferry::software_driver
