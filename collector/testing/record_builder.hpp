#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tferry::collector {

/// A buffer as CUPTI fills it, made by hand: records one behind the other.
///
///   RecordBuilder buffer;
///   buffer.add(kernel_activity("gemm", 100, 200)).add(memcpy_activity(4096, 150, 180));
class RecordBuilder {
 public:
  template <typename Activity>
  RecordBuilder& add(const Activity& activity) {
    static_assert(sizeof(Activity) % 8 == 0);
    const std::size_t at = words_.size() * 8;
    words_.resize(words_.size() + sizeof(Activity) / 8);
    std::memcpy(data() + at, &activity, sizeof activity);
    ++records_;
    return *this;
  }

  std::uint8_t* data() { return static_cast<std::uint8_t*>(static_cast<void*>(words_.data())); }
  std::size_t size() const { return words_.size() * 8; }
  std::size_t records() const { return records_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t records_ = 0;
};

inline CUpti_ActivityKernel10 kernel_activity(const char* name, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = name;
  kernel.start = start;
  kernel.end = end;
  kernel.contextId = 1;
  kernel.streamId = 7;
  kernel.correlationId = 42;
  kernel.gridX = 128;
  kernel.gridY = kernel.gridZ = 1;
  kernel.blockX = 256;
  kernel.blockY = kernel.blockZ = 1;
  return kernel;
}

inline CUpti_ActivityMemcpy6 memcpy_activity(std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  copy.bytes = bytes;
  copy.start = start;
  copy.end = end;
  copy.contextId = 1;
  copy.streamId = 7;
  copy.correlationId = 43;
  return copy;
}

inline CUpti_ActivityMarker2 marker_activity(std::uint32_t id, std::uint64_t time, CUpti_ActivityFlag flag,
                                             const char* name = nullptr, std::uint32_t thread = 9) {
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = flag;
  marker.timestamp = time;
  marker.id = id;
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.objectId.pt.threadId = thread;
  marker.name = name;
  return marker;
}

}  // namespace tferry::collector
