#pragma once

#include "trace/job_status.hpp"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

namespace tferry::cli::testing_support {

/// Builds `status.PID` as the runtime library writes it.
class StatusBuilder {
 public:
  StatusBuilder() : storage_(sizeof(trace::JobStatus) + alignof(trace::JobStatus)) {
    void* place = storage_.data();
    std::size_t space = storage_.size();
    std::align(alignof(trace::JobStatus), sizeof(trace::JobStatus), place, space);
    status_ = new (place) trace::JobStatus();
    status_->size = sizeof(trace::JobStatus);
  }

  trace::JobStatus& status() { return *status_; }
  trace::DeviceStatus& device(int index) { return status_->device[index]; }
  void set_stage(trace::JobStage stage) { status_->stage = static_cast<std::int64_t>(stage); }
  void set_command(const char* command) {
    std::strncpy(status_->command, command, sizeof status_->command - 1);
  }
  void set_message(const char* message) {
    std::strncpy(status_->message, message, sizeof status_->message - 1);
  }

  std::vector<char> bytes() const {
    std::vector<char> result(sizeof(trace::JobStatus));
    std::memcpy(result.data(), static_cast<const void*>(status_), result.size());
    return result;
  }
  void write(const std::filesystem::path& path) const { write_bytes(path, bytes()); }

  static void write_bytes(const std::filesystem::path& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::vector<char> storage_;
  trace::JobStatus* status_;
};

/// Builds `operations.PID`: a ring with `capacity` slots into which `add` writes as the runtime does.
class OperationLogBuilder {
 public:
  explicit OperationLogBuilder(std::size_t capacity) : slots_(capacity) {}

  void add(const trace::OperationEntry& entry) {
    slots_[written_ % slots_.size()] = entry;
    ++written_;
  }
  std::vector<char> bytes() const {
    std::vector<char> result(sizeof(trace::OperationLogHeader) +
                             slots_.size() * sizeof(trace::OperationEntry));
    trace::OperationLogHeader header;
    header.capacity = slots_.size();
    header.written = written_;
    std::memcpy(result.data(), static_cast<const void*>(&header), sizeof header);
    std::memcpy(result.data() + sizeof header, slots_.data(), slots_.size() * sizeof(trace::OperationEntry));
    return result;
  }
  void write(const std::filesystem::path& path) const { StatusBuilder::write_bytes(path, bytes()); }

 private:
  std::vector<trace::OperationEntry> slots_;
  std::uint64_t written_ = 0;
};

}  // namespace tferry::cli::testing_support
