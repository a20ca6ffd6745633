#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tferry::replay {

/// What a job asked its driver for, as the hooks recorded it, in the order in which it happened.
struct RecordedJob {
  using Call = std::variant<trace::AllocationRecord, trace::FreeRecord, trace::KernelLaunchRecord,
                            trace::MemcpyCallRecord, trace::MemsetCallRecord>;

  std::vector<Call> calls;
  std::unordered_map<trace::StringId, std::string> strings;
  std::unordered_map<std::uint64_t, std::vector<trace::AccessEntry>> accesses;  ///< by operation

  const std::vector<trace::AccessEntry>& accesses_of(std::uint64_t operation) const {
    static const std::vector<trace::AccessEntry> none;
    const auto found = accesses.find(operation);
    return found != accesses.end() ? found->second : none;
  }
};

/// Reads the runtime's spool of a job; `path` may be compressed by gzip. Throws what trace::SpoolReader
/// throws, and std::runtime_error where gzip fails.
RecordedJob read_recorded_job(const std::string& path);

}  // namespace tferry::replay
