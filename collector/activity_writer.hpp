#pragma once

#include "collector/cupti_api.hpp"
#include "collector/decode.hpp"
#include "collector/device_lookup.hpp"
#include "collector/marker_table.hpp"
#include "trace/spool_writer.hpp"

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

namespace tferry::collector {

/// Appends what CUPTI tells to the spool: decodes records, interns names, makes ranges whole, and ties
/// contexts and streams to the handles that hooks see.
///
/// Threads: `write` and `finish` from one; `note_context` and `note_stream` from any.
class ActivityWriter {
 public:
  ActivityWriter(trace::SpoolWriter& spool, DeviceLookup& devices) : spool_(spool), devices_(devices) {}

  void set_time_base(TimeBase time) { time_ = time; }
  /// Who names API calls; without it they are counted as not recorded.
  void set_names(CuptiApi& cupti) { names_ = &cupti; }

  /// One record of a CUPTI buffer. Kinds that this version does not know are counted.
  void write(const CUpti_Activity& activity);

  void note_context(std::uint64_t handle, std::uint32_t context_id, std::int32_t device);
  void note_stream(std::uint64_t handle, std::uint32_t context_id, std::uint32_t stream_id,
                   std::int32_t device);

  /// Ranges that are still open, and what could not be written. Once, at the end.
  void finish();

  std::int64_t written() const { return written_; }

 private:
  struct StreamName {
    std::uint64_t handle = 0;
    std::int64_t time_ns = 0;
    std::int32_t device = -1;
  };

  template <typename Record>
  void append(const Record& record);
  void write_device(const CUpti_ActivityDevice5& device);
  void write_context(const CUpti_ActivityContext3& context);
  void write_stream(const CUpti_ActivityStream& stream);
  void write_api_call(const CUpti_ActivityAPI& call);
  trace::StringId intern(const char* text) { return text == nullptr ? 0 : spool_.intern(text); }

  trace::SpoolWriter& spool_;
  DeviceLookup& devices_;
  TimeBase time_;
  MarkerTable markers_;
  CuptiApi* names_ = nullptr;
  std::map<std::pair<CUpti_ActivityKind, CUpti_CallbackId>, trace::StringId> call_names_;
  std::int64_t written_ = 0;
  std::map<CUpti_ActivityKind, std::int64_t> unsupported_;

  std::mutex mutex_;  ///< what note_... and write share; never held over a CUPTI call
  std::set<std::uint32_t> noted_contexts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamName> noted_streams_;
};

}  // namespace tferry::collector
