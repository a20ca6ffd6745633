#pragma once

#include "trace/session_writer.hpp"

#include <cstdint>
#include <string>

namespace tferry::cli::testing_support {

/// Writes a small session as a profile leaves one: a process on one GPU that reads two weights of 8 MiB in
/// turn, `iterations` times, with an input copied in before each. Kernels take 1000 and 3000 ns and start 500
/// ns after their launch.
struct LayersSession {
  int iterations = 6;
  bool timed = true;   ///< CUPTI was there
  bool hooked = true;  ///< hooks were there
  std::int64_t bytes = std::int64_t{8} << 20;

  void write(const std::string& path) const {
    trace::SessionWriter writer = trace::SessionWriter::create(path);
    writer.set_meta("spools", "2");
    writer.insert(trace::ProcessRow{.id = 1,
                                    .pid = 4711,
                                    .host = "box",
                                    .command = "python3 train.py",
                                    .driver_version = 13000,
                                    .start_ns = 1000,
                                    .end_ns = 1'000'000});
    writer.insert(
        trace::DeviceRow{.id = 1, .uuid = "GPU-0", .name = "NVIDIA H200", .memory_bytes = 1LL << 37});
    writer.insert(trace::ProcessDeviceRow{.process_id = 1, .ordinal = 0, .device_id = 1});
    writer.insert(
        trace::StreamRow{.id = 1, .process_id = 1, .device_id = 1, .owner = trace::StreamOwner::kProgram});
    if (hooked) {
      for (const std::int64_t id : {1, 2, 3}) allocate(writer, id);
    }
    std::int64_t operation = 0, now = 10'000;
    for (int i = 0; i < iterations; ++i) {
      copy(writer, ++operation, now);
      now += 5000;
      kernel(writer, ++operation, now, "_Z5firstPf", 1000, 1);
      now += 1000;
      kernel(writer, ++operation, now, "second", 3000, 2);
      now += 4000;
    }
    writer.insert(trace::LossRow{.process_id = 1, .what = "kernel", .reason = "bad_time", .count = 2});
    writer.publish();
  }

 private:
  void allocate(trace::SessionWriter& writer, std::int64_t id) const {
    trace::AllocationRow row;
    row.id = row.allocation = id;
    row.process_id = row.device_id.emplace(1);
    row.address = id << 32;
    row.bytes = row.reserved_bytes = bytes;
    row.memory_kind = trace::MemoryKind::kDevice;
    row.api = trace::AllocationApi::kAlloc;
    row.alloc_ns = 2000 + id;
    row.movable = 1;
    writer.insert(row);
  }

  template <typename Row>
  void place(Row& row, std::int64_t operation, std::int64_t start_ns, std::int64_t duration_ns) const {
    row.process_id = row.device_id.emplace(1);
    row.stream_id = 1;
    row.owner = trace::StreamOwner::kProgram;
    if (timed) {
      row.start_ns = start_ns;
      row.end_ns = start_ns + duration_ns;
    }
    if (!hooked) return;
    row.operation = operation;
    row.call_ns = start_ns - 500;
    row.return_ns = start_ns - 400;
    row.wait_ns = 0;
  }

  void touch(trace::SessionWriter& writer, std::int64_t operation, std::int64_t allocation,
             trace::AccessKind kind) const {
    if (!hooked) return;
    writer.insert(trace::AccessRow{.process_id = 1,
                                   .operation = operation,
                                   .allocation_id = allocation,
                                   .bytes = bytes,
                                   .kind = kind,
                                   .known_by = trace::KnownBy::kArgument});
  }

  void copy(trace::SessionWriter& writer, std::int64_t operation, std::int64_t start_ns) const {
    trace::MemcpyRow row;
    place(row, operation, start_ns, 4000);
    row.bytes = 40'000;
    row.kind = trace::CopyKind::kHostToDevice;
    row.source_kind = trace::MemoryKind::kPinned;
    row.destination_kind = trace::MemoryKind::kDevice;
    writer.insert(row);
    touch(writer, operation, 3, trace::AccessKind::kWrite);
  }

  void kernel(trace::SessionWriter& writer, std::int64_t operation, std::int64_t start_ns, const char* name,
              std::int64_t duration_ns, std::int64_t weight) const {
    trace::KernelRow row;
    place(row, operation, start_ns, duration_ns);
    row.name_id = writer.intern(name);
    row.grid_x = row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
    row.block_x = 256;
    writer.insert(row);
    touch(writer, operation, weight, trace::AccessKind::kReadWrite);
    touch(writer, operation, 3, trace::AccessKind::kRead);
  }
};

}  // namespace tferry::cli::testing_support
