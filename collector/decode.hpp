#pragma once

#include "trace/records.hpp"

#include <cupti.h>

#include <cstdint>
#include <optional>

namespace tferry::collector {

/// From CUPTI's clock to CLOCK_MONOTONIC. CUPTI is given that clock as its timestamp callback, so the offset
/// is 0 unless CUPTI refused the callback.
struct TimeBase {
  std::int64_t offset_ns = 0;

  /// 0, CUPTI's "unknown", stays 0; so does what no int64 holds.
  std::int64_t convert(std::uint64_t cupti_ns) const noexcept;
};

// CUPTI activity records into records of the spool, one function a kind; pure. Times that cannot be (zero,
// end before start) are passed on as they are: whoever reads the spool counts them and keeps them out of
// metrics. `name` is the interned name.

trace::KernelActivityRecord decode(const CUpti_ActivityKernel10& kernel, TimeBase time, trace::StringId name);
trace::MemcpyActivityRecord decode(const CUpti_ActivityMemcpy6& copy, TimeBase time);
trace::MemcpyActivityRecord decode(const CUpti_ActivityMemcpyPtoP4& copy, TimeBase time);
trace::MemsetActivityRecord decode(const CUpti_ActivityMemset4& set, TimeBase time);
trace::SyncRecord decode(const CUpti_ActivitySynchronization2& sync, TimeBase time);
/// Without PCI address, which CUPTI does not tell.
trace::DeviceRecord decode(const CUpti_ActivityDevice5& device, std::int64_t now_ns, trace::StringId name);
trace::OverheadRecord decode(const CUpti_ActivityOverhead3& overhead, TimeBase time, trace::StringId what);
/// None for a counter kind that has no record.
std::optional<trace::UmEventRecord> decode(const CUpti_ActivityUnifiedMemoryCounter3& counter, TimeBase time);

trace::ApiCallRecord decode(const CUpti_ActivityAPI& call, TimeBase time, trace::StringId name);
/// None where an end is no GPU.
std::optional<trace::NvlinkRecord> decode(const CUpti_ActivityNvLink4& nvlink, std::int64_t now_ns);

trace::CopyKind copy_kind(std::uint8_t cupti_kind);
trace::MemoryKind memory_kind(std::uint16_t cupti_kind);
const char* overhead_name(CUpti_ActivityOverheadKind kind);

/// Reports of the spool's `what` for what a CUPTI kind would have given.
trace::RecordKind record_kind_of(CUpti_ActivityKind kind);

}  // namespace tferry::collector
