#include "tests/software_driver/memory_operations.hpp"

#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/jitter.hpp"

#include <cstring>
#include <utility>

namespace tferry::software_driver {
namespace {

Place checked_place(Address address, Side side) {
  const Place place = place_of(address);
  require(side != Side::kDevice || place.known);
  return place;
}

Nanoseconds time_of(std::size_t bytes, double gigabytes_per_second) {
  return static_cast<Nanoseconds>(static_cast<double>(bytes) / gigabytes_per_second);
}

void choose_engine(Work& work, Device& device, const Place& to, const Place& from, std::size_t bytes) {
  const Config& config = driver().config;
  work.bytes = static_cast<std::int64_t>(bytes);
  if (to.device >= 0 && from.device < 0) {
    work.engine = driver().device(to.device).link_in;
    work.duration = time_of(bytes, driver().h2d_gbps);
  } else if (to.device < 0 && from.device >= 0) {
    work.engine = driver().device(from.device).link_out;
    work.duration = time_of(bytes, driver().d2h_gbps);
  } else if (to.device >= 0) {
    device.inner_bytes.fetch_add(work.bytes, std::memory_order_relaxed);
    work.duration = time_of(bytes, to.device == from.device ? config.d2d_gbps : config.p2p_gbps);
  }
}

std::shared_ptr<const WorkDetails> copy_details(const Box& to, bool to_host, const Box& from, bool from_host,
                                                const Extent& extent) {
  auto details = std::make_shared<WorkDetails>();
  CUDA_MEMCPY3D& copy = details->copy;
  copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = from_host ? reinterpret_cast<const void*>(from.base) : nullptr;
  copy.srcDevice = from_host ? 0 : from.base;
  copy.srcPitch = from.row_stride;
  copy.srcHeight = from.row_stride ? from.slice_stride / from.row_stride : 0;
  copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = to_host ? reinterpret_cast<void*>(to.base) : nullptr;
  copy.dstDevice = to_host ? 0 : to.base;
  copy.dstPitch = to.row_stride;
  copy.dstHeight = to.row_stride ? to.slice_stride / to.row_stride : 0;
  copy.WidthInBytes = extent.width;
  copy.Height = extent.height;
  copy.Depth = extent.depth;
  return details;
}

template <class Row>
void for_each_row(const Extent& extent, Row row) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    for (std::size_t y = 0; y < extent.height; ++y) row(z, y);
  }
}

}  // namespace

Work copy_work(Device& device, const Box& to, Side to_side, const Box& from, Side from_side,
               const Extent& extent) {
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return work;
  require(to.base != 0 && from.base != 0);
  require(extent.height == 1 || (to.row_stride >= extent.width && from.row_stride >= extent.width));
  const Place to_place = checked_place(to.base, to_side);
  const Place from_place = checked_place(from.base, from_side);
  choose_engine(work, device, to_place, from_place, extent.width * extent.height * extent.depth);
  work.details = copy_details(to, !to_place.known, from, !from_place.known, extent);
  work.run = [to, from, extent, contents = driver().config.contents] {
    if (!contents) return;
    for_each_row(extent, [&](std::size_t z, std::size_t y) {
      const Address target = to.base + z * to.slice_stride + y * to.row_stride;
      const Address source = from.base + z * from.slice_stride + y * from.row_stride;
      copy_bytes(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), extent.width);
    });
  };
  return work;
}

Work set_work(const Box& to, unsigned value, std::size_t element, const Extent& extent) {
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMSET;
  if (extent.width == 0 || extent.height == 0) return work;
  require(to.base % element == 0);
  require(extent.height == 1 || to.row_stride >= extent.width * element);
  checked_place(to.base, Side::kDevice);
  work.duration = time_of(extent.width * element * extent.height, driver().config.d2d_gbps);
  auto details = std::make_shared<WorkDetails>();
  details->set = {to.base, to.row_stride, value, static_cast<unsigned>(element), extent.width, extent.height};
  work.details = std::move(details);
  work.run = [to, value, element, extent, contents = driver().config.contents] {
    if (!contents) return;
    for_each_row(extent, [&](std::size_t, std::size_t y) {
      auto* row = reinterpret_cast<unsigned char*>(to.base + y * to.row_stride);
      if (element == 1) {
        std::memset(row, static_cast<int>(value), extent.width);
        return;
      }
      for (std::size_t x = 0; x < extent.width; ++x) std::memcpy(row + x * element, &value, element);
    });
  };
  return work;
}

}  // namespace tferry::software_driver
