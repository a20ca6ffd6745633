// What a step asks of the driver, and what it does to the model.
#include "tests/runtime/lane.hpp"

#include <algorithm>
#include <cstring>

namespace tferry::runtime_test {
namespace {

std::uint32_t* words(std::vector<std::uint8_t>& bytes) {
  return reinterpret_cast<std::uint32_t*>(bytes.data());
}

std::vector<std::uint8_t> upload_source(const Step& step) {
  std::vector<std::uint8_t> source(step.bytes);
  fill_words(words(source), step.bytes / 4, step.value);
  return source;
}

}  // namespace

std::uint64_t Lane::common_words(const Step& step) const {
  return std::min({at(step.target).expected.size(), at(step.first).expected.size(),
                   at(step.second).expected.size()}) /
         4;
}

CUresult Lane::launch(CUfunction function, CUstream stream, void** parameters, void** extra) {
  return api_.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra);
}

CUresult Lane::submit(const Step& step, CUstream stream) {
  Buffer& target = at(step.target);
  std::uint64_t count = target.expected.size() / 4;
  std::uint32_t value = step.value;
  switch (step.action) {
    case Action::kFill: {
      void* parameters[] = {&target.address, &count, &value};
      return launch(machine_.kernels.fill, stream, parameters);
    }
    case Action::kMix: {
      count = common_words(step);
      void* parameters[] = {&target.address, &at(step.first).address, &at(step.second).address, &count,
                            &value};
      return launch(machine_.kernels.mix, stream, parameters);
    }
    case Action::kMixByStruct: {
      MixArguments all{machine_.addresses[static_cast<std::size_t>(step.stale)],
                       target.address,
                       at(step.first).address,
                       common_words(step),
                       at(step.second).address,
                       value,
                       0};
      void* parameters[] = {&all};
      return launch(machine_.kernels.mix_by_struct, stream, parameters);
    }
    case Action::kAddPacked: {
      struct {
        CUdeviceptr out;
        std::uint64_t words;
        std::uint32_t value;
      } packed{target.address, count, value};
      std::size_t size = sizeof packed;
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       CU_LAUNCH_PARAM_END};
      return launch(machine_.kernels.add, stream, nullptr, extra);
    }
    case Action::kUpload:
      return upload(step, stream);
    case Action::kCopy:
      return copy(step, stream);
    case Action::kCopyRows:
      return copy_rows(step, stream);
    default:
      return set(step, stream);
  }
}

CUresult Lane::upload(const Step& step, CUstream stream) {
  const CUdeviceptr to = at(step.target).address + step.target_at;
  uploads_.push_back(upload_source(step));
  const void* from = uploads_.back().data();
  if (stream != CU_STREAM_LEGACY) {
    return step.form == 0 ? api_.cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(from), step.bytes, stream)
                          : api_.cuMemcpyHtoDAsync_v2(to, from, step.bytes, stream);
  }
  return step.form == 0 ? api_.cuMemcpy(to, reinterpret_cast<CUdeviceptr>(from), step.bytes)
                        : api_.cuMemcpyHtoD_v2(to, from, step.bytes);
}

CUresult Lane::copy(const Step& step, CUstream stream) {
  const CUdeviceptr to = at(step.target).address + step.target_at;
  const CUdeviceptr from = at(step.first).address + step.first_at;
  const bool unified = step.form == 1;
  if (stream != CU_STREAM_LEGACY) {
    return unified ? api_.cuMemcpyAsync(to, from, step.bytes, stream)
                   : api_.cuMemcpyDtoDAsync_v2(to, from, step.bytes, stream);
  }
  return unified ? api_.cuMemcpy(to, from, step.bytes) : api_.cuMemcpyDtoD_v2(to, from, step.bytes);
}

CUresult Lane::copy_rows(const Step& step, CUstream stream) {
  const CUdeviceptr to = at(step.target).address;
  const CUdeviceptr from = at(step.first).address;
  if (step.form == 0) {
    CUDA_MEMCPY3D all{};
    all.srcMemoryType = all.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    all.srcDevice = from;
    all.dstDevice = to;
    all.srcPitch = all.dstPitch = step.pitch;
    all.WidthInBytes = step.bytes;
    all.srcHeight = all.dstHeight = all.Height = step.rows;
    all.Depth = 1;
    return api_.cuMemcpy3DAsync_v2(&all, stream);
  }
  CUDA_MEMCPY2D all{};
  all.srcMemoryType = all.dstMemoryType = step.form == 1 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
  all.srcDevice = from;
  all.dstDevice = to;
  all.srcPitch = all.dstPitch = step.pitch;
  all.WidthInBytes = step.bytes;
  all.Height = step.rows;
  return stream == CU_STREAM_LEGACY ? api_.cuMemcpy2D_v2(&all) : api_.cuMemcpy2DAsync_v2(&all, stream);
}

CUresult Lane::set(const Step& step, CUstream stream) {
  const CUdeviceptr to = at(step.target).address + step.target_at;
  if (step.action == Action::kSetRows)
    return api_.cuMemsetD2D8Async(to, step.pitch, static_cast<unsigned char>(step.value), step.bytes,
                                  step.rows, stream);
  switch (step.form) {
    case 0:
      if (stream == CU_STREAM_LEGACY)
        return api_.cuMemsetD8_v2(to, static_cast<unsigned char>(step.value), step.bytes);
      return api_.cuMemsetD8Async(to, static_cast<unsigned char>(step.value), step.bytes, stream);
    case 1:
      return api_.cuMemsetD16Async(to, static_cast<unsigned short>(step.value), step.bytes / 2, stream);
    default:
      return api_.cuMemsetD32Async(to, step.value, step.bytes / 4, stream);
  }
}

void Lane::apply(const Step& step) {
  auto& target = at(step.target).expected;
  std::uint8_t* const to = target.data() + step.target_at;
  switch (step.action) {
    case Action::kFill:
      return fill_words(words(target), target.size() / 4, step.value);
    case Action::kMix:
    case Action::kMixByStruct:
      return mix_words(words(target), words(at(step.first).expected), words(at(step.second).expected),
                       common_words(step), step.value);
    case Action::kAddPacked:
      return add_words(words(target), target.size() / 4, step.value);
    case Action::kUpload: {
      const auto source = upload_source(step);
      std::memcpy(to, source.data(), source.size());
      return;
    }
    case Action::kCopy:
      std::memcpy(to, at(step.first).expected.data() + step.first_at, step.bytes);
      return;
    case Action::kCopyRows:
      for (std::size_t row = 0; row < step.rows; ++row)
        std::memcpy(to + row * step.pitch, at(step.first).expected.data() + row * step.pitch, step.bytes);
      return;
    case Action::kSetRows:
      for (std::size_t row = 0; row < step.rows; ++row)
        std::memset(to + row * step.pitch, static_cast<unsigned char>(step.value), step.bytes);
      return;
    default: {  // kSet
      const std::size_t element = step.form == 0 ? 1 : step.form == 1 ? 2 : 4;
      for (std::size_t i = 0; i < step.bytes; i += element) std::memcpy(to + i, &step.value, element);
    }
  }
}

}  // namespace tferry::runtime_test
