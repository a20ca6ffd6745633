#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

class Environment;
class Installation;

struct RecordingSettings {
  bool hooks = true;                        ///< the preloaded runtime records what the program asks for
  std::optional<std::int64_t> spool_limit;  ///< bytes of one process's spool
  std::int64_t keep_last_ns = 0;            ///< only the last so long is kept, 0: everything
  std::filesystem::path program;            ///< that the job begins with, to look for CUPTI beside it
  std::vector<std::string> more_kinds;      ///< beside the usual ones: um, api
  std::string range;                        ///< trace/range_request.hpp; empty: all of the job
  bool stop_after_range = false;
  bool access_direction = false;  ///< launches are tried, to find what they do to memory
  bool access_pages = false;      ///< or watched by page faults; needs "um" among the kinds
  bool name_pytorch = false;      ///< by our start-up hook for Python (collector/python)
  std::string ranks;              ///< such as "0,3"; empty: all
};

/// Sets what makes a job record itself: the runtime's hooks (TFERRY_RECORD) and the collector that the driver
/// loads (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH). libcupti is offered by a folder of the run directory
/// that holds nothing else, behind the program's own LD_LIBRARY_PATH, so that no library of the program's is
/// shadowed. The user's own injection is kept: then GPU activity is not recorded by us.
///
/// Returns what will be missing, in sentences with what to do.
std::vector<std::string> apply_recording(const RecordingSettings& settings, const Installation& installation,
                                         const std::filesystem::path& run_directory,
                                         Environment& environment);

/// The libcupti.so.13 that a job can be given: of CUDA_HOME or CUDA_PATH, of a toolkit in its usual place, or
/// of the Python installation of `program` (its folder's ../lib/python3.*/site-packages/nvidia/...).
std::optional<std::filesystem::path> find_cupti(const Environment& environment,
                                                const std::filesystem::path& program);

}  // namespace tferry::cli
