#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tferry::trace {

/// Nanoseconds of "30s", "1.5s" or "200ms"; false if the text is none of these.
bool parse_duration(std::string_view text, std::int64_t& ns);

/// Which part of a job is recorded, as `--range` and TFERRY_RANGE say it:
///
///   cuda-profiler-api       between cudaProfilerStart and cudaProfilerStop
///   nvtx:NAME               while an NVTX range of that name is open, in any domain
///   nvtx:NAME@DOMAIN        the same in one domain
///   time:START+DURATION     from START after the collector began, such as time:30s+10s; s and ms
///   iterations:FIRST..LAST  of the job's iterations, which are found while it runs; counted from 0, both
///   included
///
/// An empty text is all of it.
struct RangeRequest {
  enum class Kind { kAll, kProfilerApi, kNvtx, kTime, kIterations };
  Kind kind = Kind::kAll;
  std::string text;           ///< as it was written
  std::string name, domain;   ///< NVTX; domain empty: any
  std::int64_t start_ns = 0;  ///< time
  std::int64_t duration_ns = 0;
  std::int64_t first = 0, last = 0;  ///< iterations

  /// False, with a sentence in `error`, if the text is none of these.
  static bool parse(std::string_view text, RangeRequest& request, std::string& error);
};

}  // namespace tferry::trace
