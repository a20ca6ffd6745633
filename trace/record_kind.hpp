#pragma once

#include <cstdint>
#include <string_view>

namespace tferry::trace {

/// Kinds of records in a spool. The numbers are the file format: new kinds go to the end, none is ever
/// reused. "Hook" records tell what the program asked for (preloaded hooks), "activity" records what the GPU
/// did (CUPTI).
enum class RecordKind : std::uint16_t {
  kNone = 0,  ///< no record has it
  kProcess,
  kDevice,
  kContext,
  kStream,
  kString,
  kKernelLaunch,
  kKernelActivity,
  kMemcpyCall,
  kMemcpyActivity,
  kMemsetCall,
  kMemsetActivity,
  kGraphLaunch,
  kAllocation,
  kFree,
  kAccess,
  kSync,
  kMarker,
  kCounter,
  kTransfer,
  kGate,
  kUmEvent,
  kOverhead,
  kLoss,
  kApiCall,
  kNvlink,
  kRange,
  kPoolOperation,
  kCount  ///< not a kind
};

/// The spool's status page has room for as many; kinds beyond it are counted under kNone.
inline constexpr int kMaxRecordKinds = 64;
static_assert(static_cast<int>(RecordKind::kCount) <= kMaxRecordKinds);

/// The name that the session's `loss` table and reports use; "unknown" for what this version does not know.
constexpr std::string_view record_kind_name(RecordKind kind) {
  constexpr std::string_view kNames[] = {
      "none",     "process",     "device", "context",     "stream",  "string",       "kernel_launch",
      "kernel",   "memcpy_call", "memcpy", "memset_call", "memset",  "graph_launch", "allocation",
      "free",     "access",      "sync",   "marker",      "counter", "transfer",     "gate",
      "um_event", "overhead",    "loss",   "api_call",    "nvlink",  "range",        "pool_operation"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<std::size_t>(RecordKind::kCount));
  return kind < RecordKind::kCount ? kNames[static_cast<int>(kind)] : "unknown";
}

}  // namespace tferry::trace
