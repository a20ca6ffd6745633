#pragma once

#include "trace/session_writer.hpp"

#include <cstdint>
#include <string>

namespace tferry::analyzer::testing_support {

/// Writes a session of two ranks, each on a GPU of its own behind one switch, that copy in 100 MB at the same
/// time in every iteration: 2 ms alone, 4 together. An iteration is a kernel of 1 ms, the copy, and a kernel
/// of 3 ms that hides half of it: 6 ms. Links of 50 GB/s, measured.
struct TwoGpuSession {
  int iterations = 6;
  bool calibrated = true;
  bool tree = true;

  static constexpr std::int64_t kMs = 1'000'000;

  void write(const std::string& path) const {
    trace::SessionWriter writer = trace::SessionWriter::create(path);
    if (tree)
      writer.insert(trace::LinkRow{.id = 1, .kind = "pcie", .upstream = "host", .downstream = "switch"});
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t id = rank + 1;
      writer.insert(trace::ProcessRow{
          .id = id, .pid = 100 + rank, .rank = rank, .command = "train", .start_ns = 0, .end_ns = 100 * kMs});
      writer.insert(trace::DeviceRow{.id = id, .uuid = "GPU-" + std::to_string(rank)});
      writer.insert(trace::StreamRow{.id = 2 * id, .process_id = id, .device_id = id});
      writer.insert(trace::StreamRow{.id = 2 * id + 1, .process_id = id, .device_id = id});
      if (tree) add_link(writer, id);
      for (int i = 0; i < iterations; ++i) add_iteration(writer, id, i, (1 + 6 * i) * kMs);
    }
    writer.publish();
  }

 private:
  void add_link(trace::SessionWriter& writer, std::int64_t id) const {
    trace::LinkRow row{.id = 1 + id, .parent_id = 1, .kind = "pcie", .upstream = "switch", .device_id = id};
    if (calibrated) {
      row.h2d_bytes_per_second = row.d2h_bytes_per_second = 50e9;
      row.known_by = "measured";
    }
    writer.insert(row);
  }

  void add_iteration(trace::SessionWriter& writer, std::int64_t id, int number, std::int64_t start) const {
    const std::int64_t first = 3 * number;
    kernel(writer, id, first + 1, "first", start, start + kMs);
    trace::MemcpyRow copy;
    copy.process_id = id;
    copy.device_id = id;
    copy.stream_id = 2 * id + 1;
    copy.start_ns = start + kMs;
    copy.end_ns = start + 5 * kMs;
    copy.bytes = 100'000'000;
    copy.kind = trace::CopyKind::kHostToDevice;
    copy.source_kind = trace::MemoryKind::kPinned;
    copy.destination_kind = trace::MemoryKind::kDevice;
    copy.operation = first + 2;
    copy.call_ns = start;
    copy.owner = trace::StreamOwner::kProgram;
    writer.insert(copy);
    kernel(writer, id, first + 3, "second", start + 3 * kMs, start + 6 * kMs);
  }

  void kernel(trace::SessionWriter& writer, std::int64_t id, std::int64_t operation, const char* name,
              std::int64_t start, std::int64_t end) const {
    trace::KernelRow row;
    row.process_id = id;
    row.device_id = id;
    row.stream_id = 2 * id;
    row.start_ns = start;
    row.end_ns = end;
    row.name_id = writer.intern(name);
    row.grid_x = row.grid_y = row.grid_z = row.block_x = row.block_y = row.block_z = 1;
    row.operation = operation;
    row.call_ns = start - 5000;
    row.owner = trace::StreamOwner::kProgram;
    writer.insert(row);
  }
};

}  // namespace tferry::analyzer::testing_support
