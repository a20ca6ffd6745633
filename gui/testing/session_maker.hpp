#pragma once

#include "trace/session_writer.hpp"
#include "trace/test_directory.hpp"

#include <cstdint>
#include <string>

namespace tferry::gui {

/// A small session as a literal: one process on one GPU, times in microseconds after 1 ms.
class SessionMaker {
 public:
  explicit SessionMaker(const std::string& path) : writer_(trace::SessionWriter::create(path)) {
    trace::DeviceRow device;
    device.id = 1;
    device.uuid = "GPU-1";
    device.name = "Test GPU";
    device.memory_bytes = std::int64_t{1} << 30;
    device.pcie_generation = 5;
    device.pcie_width = 16;
    writer_.insert(device);
    trace::ProcessRow process;
    process.id = 1;
    process.pid = 77;
    process.command = "job";
    process.start_ns = kStart;
    writer_.insert(process);
    trace::StreamRow stream;
    stream.id = 3;
    stream.process_id = 1;
    stream.device_id = 1;
    stream.cupti_stream_id = 7;
    stream.owner = trace::StreamOwner::kProgram;
    writer_.insert(stream);
  }

  static constexpr std::int64_t kStart = 1'000'000;
  static std::int64_t at(std::int64_t us) { return kStart + us * 1000; }

  SessionMaker& kernel(const char* name, std::int64_t from_us, std::int64_t to_us) {
    trace::KernelRow row;
    row.process_id = 1;
    row.device_id = 1;
    row.stream_id = 3;
    row.start_ns = at(from_us);
    row.end_ns = at(to_us);
    row.name_id = writer_.intern(name);
    row.owner = trace::StreamOwner::kProgram;
    writer_.insert(row);
    return *this;
  }
  SessionMaker& copy_in(std::int64_t bytes, std::int64_t from_us, std::int64_t to_us) {
    trace::MemcpyRow row;
    row.process_id = 1;
    row.device_id = 1;
    row.stream_id = 3;
    row.start_ns = at(from_us);
    row.end_ns = at(to_us);
    row.bytes = bytes;
    row.kind = trace::CopyKind::kHostToDevice;
    row.owner = trace::StreamOwner::kProgram;
    writer_.insert(row);
    return *this;
  }
  SessionMaker& counter(const char* name, double value, std::int64_t from_us, std::int64_t to_us) {
    writer_.insert(trace::CounterRow{1, writer_.intern(name), at(from_us), at(to_us), value});
    return *this;
  }
  SessionMaker& allocation(std::int64_t bytes, std::int64_t from_us, std::int64_t to_us) {
    trace::AllocationRow row;
    row.process_id = 1;
    row.device_id = 1;
    row.bytes = row.reserved_bytes = bytes;
    row.memory_kind = trace::MemoryKind::kDevice;
    row.alloc_ns = at(from_us);
    row.free_ns = at(to_us);
    writer_.insert(row);
    return *this;
  }
  SessionMaker& marker(const char* name, std::int64_t from_us, std::int64_t to_us) {
    trace::MarkerRow row;
    row.process_id = 1;
    row.thread = 9;
    row.kind = trace::MarkerKind::kRange;
    row.start_ns = at(from_us);
    row.end_ns = at(to_us);
    row.name_id = writer_.intern(name);
    writer_.insert(row);
    return *this;
  }
  trace::SessionWriter& writer() { return writer_; }
  void publish() { writer_.publish(); }

 private:
  trace::SessionWriter writer_;
};

}  // namespace tferry::gui
