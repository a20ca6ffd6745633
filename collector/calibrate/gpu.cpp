#include "collector/calibrate/gpu.hpp"

#include "collector/device_lookup.hpp"
#include "collector/numa_preference.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tferry::calibrate {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

}  // namespace

Gpu::Gpu(const cuda::Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {
  identity_.ordinal = ordinal;
  CUuuid uuid{};
  TFERRY_DRIVER(driver, cuDeviceGetUuid_v2, &uuid, ordinal);
  identity_.uuid = uuid_text(uuid);
  char name[256] = {}, address[64] = {};
  TFERRY_DRIVER(driver, cuDeviceGetName, name, static_cast<int>(sizeof name - 1), ordinal);
  identity_.name = name;
  TFERRY_DRIVER(driver, cuDeviceGetPCIBusId, address, static_cast<int>(sizeof address - 1), ordinal);
  for (char* letter = address; *letter != '\0'; ++letter) {
    if (*letter >= 'A' && *letter <= 'F') *letter = static_cast<char>(*letter - 'A' + 'a');
  }
  identity_.pci_address = address;
  trace::DeviceRecord record;
  record.pci_domain = attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0);
  record.pci_bus = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0);
  record.pci_device = attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0);
  collector::read_sysfs("/sys", record);
  identity_.numa_node = record.numa_node;
  TFERRY_DRIVER(driver, cuDevicePrimaryCtxRetain, &context_, ordinal);
}

Gpu::~Gpu() {
  if (context_ != nullptr && driver_.cuDevicePrimaryCtxRelease_v2 != nullptr) {
    driver_.cuDevicePrimaryCtxRelease_v2(ordinal_);
  }
}

void Gpu::make_current() const { TFERRY_DRIVER(driver_, cuCtxSetCurrent, context_); }

void Gpu::synchronise() const {
  make_current();
  TFERRY_DRIVER(driver_, cuCtxSynchronize);
}

std::int64_t Gpu::free_bytes() const {
  std::size_t free = 0, total = 0;
  make_current();
  TFERRY_DRIVER(driver_, cuMemGetInfo_v2, &free, &total);
  return static_cast<std::int64_t>(free);
}

int Gpu::attribute(CUdevice_attribute which, int otherwise) const {
  int value = 0;
  const bool told = driver_.cuDeviceGetAttribute != nullptr &&
                    driver_.cuDeviceGetAttribute(&value, which, ordinal_) == CUDA_SUCCESS;
  return told ? value : otherwise;
}

bool Gpu::can_reach(const Gpu& peer) const {
  int can = 0;
  return driver_.cuDeviceCanAccessPeer != nullptr &&
         driver_.cuDeviceCanAccessPeer(&can, ordinal_, peer.ordinal_) == CUDA_SUCCESS && can != 0;
}

void Gpu::enable_peer(const Gpu& peer) const {
  make_current();
  if (driver_.cuCtxEnablePeerAccess == nullptr)
    throw DriverCallError("this driver has no cuCtxEnablePeerAccess");
  const CUresult result = driver_.cuCtxEnablePeerAccess(peer.context_, 0);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
    throw DriverCallError(std::string("cuCtxEnablePeerAccess: ") + cuda::error_name(driver_, result));
  }
}

Memory::Memory(const Gpu& gpu, Kind kind, std::int64_t bytes) : gpu_(gpu), kind_(kind), bytes_(bytes) {
  const cuda::Driver& driver = gpu.driver();
  const auto size = static_cast<std::size_t>(bytes);
  gpu.make_current();
  const collector::NumaPreference near(gpu.identity().numa_node);
  switch (kind) {
    case Kind::kDevice:
      TFERRY_DRIVER(driver, cuMemAlloc_v2, &device_, size);
      return;
    case Kind::kManaged:
      TFERRY_DRIVER(driver, cuMemAllocManaged, &device_, size, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL));
      host_ = reinterpret_cast<void*>(device_);
      break;
    case Kind::kPinned:
      TFERRY_DRIVER(driver, cuMemHostAlloc, &host_, size, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
      TFERRY_DRIVER(driver, cuMemHostGetDevicePointer_v2, &device_, host_, 0U);
      break;
    case Kind::kPageable:
      host_ = std::aligned_alloc(kHugePage, (size + kHugePage - 1) / kHugePage * kHugePage);
      if (host_ == nullptr) throw DriverCallError("no host memory of " + std::to_string(bytes) + " bytes");
      break;
  }
  std::memset(host_, 1, size);
}

Memory::~Memory() {
  const cuda::Driver& driver = gpu_.driver();
  if (driver.cuCtxSetCurrent(gpu_.context()) != CUDA_SUCCESS) return;
  if (kind_ == Kind::kPageable) std::free(host_);
  if (kind_ == Kind::kPinned && host_ != nullptr) driver.cuMemFreeHost(host_);
  if ((kind_ == Kind::kDevice || kind_ == Kind::kManaged) && device_ != 0) driver.cuMemFree_v2(device_);
}

Stream::Stream(const Gpu& gpu) : gpu_(gpu) {
  gpu.make_current();
  TFERRY_DRIVER(gpu.driver(), cuStreamCreate, &stream_, unsigned{CU_STREAM_NON_BLOCKING});
}

Stream::~Stream() {
  if (gpu_.driver().cuCtxSetCurrent(gpu_.context()) == CUDA_SUCCESS)
    gpu_.driver().cuStreamDestroy_v2(stream_);
}

Event::Event(const Gpu& gpu) : gpu_(gpu) {
  gpu.make_current();
  TFERRY_DRIVER(gpu.driver(), cuEventCreate, &event_, unsigned{CU_EVENT_DEFAULT});
}

Event::~Event() {
  if (gpu_.driver().cuCtxSetCurrent(gpu_.context()) == CUDA_SUCCESS) gpu_.driver().cuEventDestroy_v2(event_);
}

void Event::record(CUstream stream) const { TFERRY_DRIVER(gpu_.driver(), cuEventRecord, event_, stream); }

double Event::since(const Event& earlier) const {
  float milliseconds = 0;
  const cuda::Driver& driver = gpu_.driver();
  TFERRY_DRIVER(driver, cuEventElapsedTime_v2, &milliseconds, earlier.event_, event_);
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tferry::calibrate
