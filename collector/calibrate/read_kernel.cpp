#include "collector/calibrate/read_kernel.hpp"

#include <algorithm>

namespace tferry::calibrate {
namespace {

/// read(data, count of 16-byte words, one word): folds what it reads into one word, so that no read can be
/// left out, and writes that only in one case of 2^32.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .entry tferry_calibrate_read(.param .u64 data, .param .u64 count, .param .u64 unused)
{
  .reg .pred %more, %never;
  .reg .b32 %part<4>, %block, %width, %thread, %blocks, %fold, %step32;
  .reg .b64 %at, %count, %index, %step, %offset, %base, %out;
  ld.param.u64 %base, [data];
  ld.param.u64 %count, [count];
  ld.param.u64 %out, [unused];
  cvta.to.global.u64 %base, %base;
  cvta.to.global.u64 %out, %out;
  mov.u32 %block, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %index, %block, %width;
  cvt.u64.u32 %offset, %thread;
  add.u64 %index, %index, %offset;
  mul.lo.u32 %step32, %blocks, %width;
  cvt.u64.u32 %step, %step32;
  mov.u32 %fold, 0;
loop:
  setp.ge.u64 %more, %index, %count;
  @%more bra end;
  shl.b64 %offset, %index, 4;
  add.u64 %at, %base, %offset;
  ld.global.v4.u32 {%part0, %part1, %part2, %part3}, [%at];
  xor.b32 %part0, %part0, %part1;
  xor.b32 %part2, %part2, %part3;
  xor.b32 %fold, %fold, %part0;
  add.u32 %fold, %fold, %part2;
  add.u64 %index, %index, %step;
  bra loop;
end:
  setp.eq.u32 %never, %fold, 0x7f3a91c5;
  @%never st.global.u32 [%out], %fold;
  ret;
}
)";

constexpr unsigned kThreads = 512;

}  // namespace

ReadKernel::ReadKernel(const Gpu& gpu) : gpu_(gpu), unused_(gpu, Memory::Kind::kDevice, 256) {
  gpu.make_current();
  TFERRY_DRIVER(gpu.driver(), cuModuleLoadData, &module_, static_cast<const void*>(kPtx));
  TFERRY_DRIVER(gpu.driver(), cuModuleGetFunction, &function_, module_, kName);
}

ReadKernel::~ReadKernel() {
  if (gpu_.driver().cuCtxSetCurrent(gpu_.context()) == CUDA_SUCCESS) gpu_.driver().cuModuleUnload(module_);
}

void ReadKernel::launch(CUdeviceptr address, std::int64_t bytes, CUstream stream) const {
  gpu_.make_current();
  CUdeviceptr out = unused_.device();
  std::uint64_t count = static_cast<std::uint64_t>(bytes) / 16;
  void* arguments[] = {&address, &count, &out};
  const auto blocks =
      static_cast<unsigned>(std::max(1, gpu_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1) * 8));
  TFERRY_DRIVER(gpu_.driver(), cuLaunchKernel, function_, blocks, 1U, 1U, kThreads, 1U, 1U, 0U, stream,
                static_cast<void**>(arguments), static_cast<void**>(nullptr));
}

}  // namespace tferry::calibrate
