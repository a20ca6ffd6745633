#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"

#include <utility>
#include <vector>

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

/// One copy of a 3D batch: lengths are in bytes there.
Box box_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent) {
  require(operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER, CUDA_ERROR_NOT_SUPPORTED);
  const auto& memory = operand.op.ptr;
  const std::size_t row = memory.rowLength ? memory.rowLength : extent.width;
  return {memory.ptr, row, row * (memory.layerHeight ? memory.layerHeight : extent.height)};
}

void submit_batch(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* sizes, std::size_t count,
                  const std::size_t* attribute_starts, std::size_t attributes, CUstream stream) {
  require(count > 0 && to && from && sizes && attribute_starts && attributes > 0 && attributes <= count);
  require(attribute_starts[0] == 0);
  require(stream_of(stream)->kind() != Stream::Kind::kLegacy);
  std::vector<Work> works;
  for (std::size_t i = 0; i < count; ++i) works.push_back(either(to[i], from[i], sizes[i]));
  for (Work& work : works) submit(stream, std::move(work));
}

void submit_boxes(const CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t count, CUstream stream) {
  require(count > 0 && copies);
  require(stream_of(stream)->kind() != Stream::Kind::kLegacy);
  std::vector<Work> works;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& copy = copies[i];
    works.push_back(copy_work(device_here(), box_of(copy.dst, copy.extent), Side::kEither,
                              box_of(copy.src, copy.extent), Side::kEither,
                              {copy.extent.width, copy.extent.height, copy.extent.depth}));
  }
  for (Work& work : works) submit(stream, std::move(work));
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
                       submit_and_wait(stream, planar_copy(checked(copy))))
SWD_DEFAULT_STREAM_API(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* copy),
                       submit_and_wait(stream, planar_copy(checked(copy))))
SWD_DEFAULT_STREAM_API(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* copy),
                       submit_and_wait(stream, spatial_copy(checked(copy))))

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
               submit(stream, planar_copy(checked(copy))))
SWD_STREAM_API(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D* copy, CUstream stream),
               submit(stream, spatial_copy(checked(copy))))

SWD_DEFAULT_STREAM_API(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* copy),
                       submit_and_wait(stream, spatial_copy(checked(copy))))
SWD_STREAM_API(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER* copy, CUstream stream),
               submit(stream, spatial_copy(checked(copy))))
SWD_STREAM_API(cuMemcpyBatchAsync_v2,
               (CUdeviceptr * to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                CUmemcpyAttributes*, std::size_t* attribute_starts, std::size_t attributes, CUstream stream),
               submit_batch(to, from, sizes, count, attribute_starts, attributes, stream))
SWD_STREAM_API(cuMemcpy3DBatchAsync_v2,
               (std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags, CUstream stream),
               require(flags == 0);
               submit_boxes(copies, count, stream))

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
