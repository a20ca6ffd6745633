#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"

namespace tferry::software_driver {
namespace {

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

/// Waits until the work is done and throws what the context says then.
void finish(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Completion>& done) {
  wait_on_host(*done);
  const CUresult error = stream->context()->error();
  require(error == CUDA_SUCCESS, error);
}

void submit(CUstream handle, Work work) {
  const auto stream = stream_of(handle);
  stream->context()->submit(*stream, std::move(work));
}

void submit_and_wait(CUstream handle, Work work) {
  const auto stream = stream_of(handle);
  const auto done = work.done;
  stream->context()->submit(*stream, std::move(work));
  finish(stream, done);
}

Device& device_here() { return current_context()->device(); }

Work linear(Address to, Side to_side, Address from, Side from_side, std::size_t size) {
  return copy_work(device_here(), to, to_side, from, from_side, size);
}

Work to_device(CUdeviceptr to, const void* from, std::size_t size) {
  return linear(to, Side::kDevice, address_of(from), Side::kHost, size);
}

Work to_host(void* to, CUdeviceptr from, std::size_t size) {
  return linear(address_of(to), Side::kHost, from, Side::kDevice, size);
}

Work within(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  return linear(to, Side::kDevice, from, Side::kDevice, size);
}

Work either(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  return linear(to, Side::kEither, from, Side::kEither, size);
}

struct End {
  Address base;
  Side side;
};

/// One end of a 2D or 3D copy. Arrays are not there.
End end_of(CUmemorytype type, const void* host, CUdeviceptr device) {
  if (type == CU_MEMORYTYPE_HOST) return {address_of(host), Side::kHost};
  require(type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED, CUDA_ERROR_NOT_SUPPORTED);
  return {device, type == CU_MEMORYTYPE_DEVICE ? Side::kDevice : Side::kEither};
}

std::size_t pitch_or_width(std::size_t pitch, std::size_t width) { return pitch ? pitch : width; }

Work planar(const CUDA_MEMCPY2D& copy) {
  const End to = end_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
  const End from = end_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
  const std::size_t to_pitch = pitch_or_width(copy.dstPitch, copy.WidthInBytes);
  const std::size_t from_pitch = pitch_or_width(copy.srcPitch, copy.WidthInBytes);
  const Box to_box{to.base + copy.dstY * to_pitch + copy.dstXInBytes, to_pitch, 0};
  const Box from_box{from.base + copy.srcY * from_pitch + copy.srcXInBytes, from_pitch, 0};
  return copy_work(device_here(), to_box, to.side, from_box, from.side, {copy.WidthInBytes, copy.Height, 1});
}

Work spatial(const CUDA_MEMCPY3D& copy) {
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
  return copy_work(device_here(), to_box, to.side, from_box, from.side,
                   {copy.WidthInBytes, copy.Height, copy.Depth});
}

Work row_of(CUdeviceptr to, unsigned value, std::size_t element, std::size_t count) {
  return set_work(Box{to, 0, 0}, value, element, {count, 1, 1});
}

Work rows_of(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t element, std::size_t width,
             std::size_t height) {
  return set_work(Box{to, pitch, 0}, value, element, {width, height, 1});
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

// Copies to and from the host have been made when the call returns; those within the device, and memsets, are
// only ordered, as the reference manual says under "API synchronization behavior".

SWD_DEFAULT_STREAM_API(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t size),
                       submit_and_wait(stream, either(to, from, size)))
SWD_DEFAULT_STREAM_API(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t size),
                       submit_and_wait(stream, to_device(to, from, size)))
SWD_DEFAULT_STREAM_API(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t size),
                       submit_and_wait(stream, to_host(to, from, size)))
SWD_DEFAULT_STREAM_API(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t size),
                       submit(stream, within(to, from, size)))
SWD_DEFAULT_STREAM_API(cuMemcpyPeer,
                       (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t size),
                       submit(stream, within(to, from, size)))
SWD_DEFAULT_STREAM_API(cuMemcpy2D_v2, (const CUDA_MEMCPY2D* copy),
                       submit_and_wait(stream, planar(checked(copy))))
SWD_DEFAULT_STREAM_API(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* copy),
                       submit_and_wait(stream, planar(checked(copy))))
SWD_DEFAULT_STREAM_API(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* copy),
                       submit_and_wait(stream, spatial(checked(copy))))

SWD_STREAM_API(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream),
               submit(stream, either(to, from, size)))
SWD_STREAM_API(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t size, CUstream stream),
               submit(stream, to_device(to, from, size)))
SWD_STREAM_API(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t size, CUstream stream),
               submit(stream, to_host(to, from, size)))
SWD_STREAM_API(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream),
               submit(stream, within(to, from, size)))
SWD_STREAM_API(cuMemcpyPeerAsync,
               (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t size, CUstream stream),
               submit(stream, within(to, from, size)))
SWD_STREAM_API(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D* copy, CUstream stream),
               submit(stream, planar(checked(copy))))
SWD_STREAM_API(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D* copy, CUstream stream),
               submit(stream, spatial(checked(copy))))

SWD_DEFAULT_STREAM_API(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, std::size_t count),
                       submit(stream, row_of(to, value, 1, count)))
SWD_DEFAULT_STREAM_API(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, std::size_t count),
                       submit(stream, row_of(to, value, 2, count)))
SWD_DEFAULT_STREAM_API(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, std::size_t count),
                       submit(stream, row_of(to, value, 4, count)))
SWD_DEFAULT_STREAM_API(cuMemsetD2D8_v2,
                       (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                        std::size_t height),
                       submit(stream, rows_of(to, pitch, value, 1, width, height)))
SWD_DEFAULT_STREAM_API(cuMemsetD2D16_v2,
                       (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                        std::size_t height),
                       submit(stream, rows_of(to, pitch, value, 2, width, height)))
SWD_DEFAULT_STREAM_API(cuMemsetD2D32_v2,
                       (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                        std::size_t height),
                       submit(stream, rows_of(to, pitch, value, 4, width, height)))

SWD_STREAM_API(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
               submit(stream, row_of(to, value, 1, count)))
SWD_STREAM_API(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream),
               submit(stream, row_of(to, value, 2, count)))
SWD_STREAM_API(cuMemsetD32Async, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream),
               submit(stream, row_of(to, value, 4, count)))
SWD_STREAM_API(cuMemsetD2D8Async,
               (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
                CUstream stream),
               submit(stream, rows_of(to, pitch, value, 1, width, height)))
SWD_STREAM_API(cuMemsetD2D16Async,
               (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                std::size_t height, CUstream stream),
               submit(stream, rows_of(to, pitch, value, 2, width, height)))
SWD_STREAM_API(cuMemsetD2D32Async,
               (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                CUstream stream),
               submit(stream, rows_of(to, pitch, value, 4, width, height)))
