#include "cli/job/recording_setup.hpp"

#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "trace/job_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCollector = "libtferry_collector.so";
constexpr const char* kCupti = "libcupti.so.13";
constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";
constexpr const char* kUsualKinds = "kernel,memcpy,memset,sync,marker,overhead,link";

/// The folders in `folder` whose names begin with `prefix`, the last by name first.
std::vector<fs::path> folders_like(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

void add_toolkit(const fs::path& root, std::vector<fs::path>& places) {
  for (const char* folder : {"extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib"}) {
    places.push_back(root / folder);
  }
}

void add_python(const fs::path& prefix, std::vector<fs::path>& places) {
  for (const fs::path& python : folders_like(prefix / "lib", "python3")) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* package : {"cu13", "cuda_cupti"}) {
        places.push_back(python / packages / "nvidia" / package / "lib");
      }
    }
  }
}

/// The folder in which libcupti and nothing else lies.
fs::path offer_cupti(const fs::path& cupti, const fs::path& run_directory) {
  const fs::path folder = run_directory / "cupti";
  std::error_code error;
  fs::create_directory(folder, error);
  fs::create_symlink(cupti, folder / kCupti, error);
  // Another launcher of the same job may have made it already.
  return error && !fs::exists(folder / kCupti) ? cupti.parent_path() : folder;
}

}  // namespace

std::optional<fs::path> find_cupti(const Environment& environment, const fs::path& program) {
  std::vector<fs::path> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = environment.get(variable); root && !root->empty()) add_toolkit(*root, places);
  }
  if (const auto root = environment.get("VIRTUAL_ENV"); root && !root->empty()) add_python(*root, places);
  add_python(program.parent_path().parent_path(), places);
  add_toolkit("/usr/local/cuda", places);
  for (const fs::path& root : folders_like("/usr/local", "cuda-13")) add_toolkit(root, places);
  add_toolkit("/opt/cuda", places);
  add_python("/usr/local", places);
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place / kCupti, error)) return fs::absolute(place / kCupti);
  }
  return std::nullopt;
}

std::vector<std::string> apply_recording(const RecordingSettings& settings, const Installation& installation,
                                         const fs::path& run_directory, Environment& environment) {
  std::vector<std::string> missing;
  environment.set(trace::environment::kRunDirectory, run_directory.string());
  if (settings.hooks) environment.set(trace::environment::kRecord, "1");
  if (settings.spool_limit) {
    environment.set(trace::environment::kSpoolLimit, std::to_string(*settings.spool_limit));
  }
  if (settings.access_direction) environment.set(trace::environment::kAccess, "direction");
  if (settings.access_pages) environment.set(trace::environment::kAccess, "pages");
  if (settings.keep_last_ns > 0) {
    environment.set(trace::environment::kKeepLast, std::to_string(settings.keep_last_ns));
  }
  if (!settings.more_kinds.empty()) {
    environment.set(trace::environment::kCollect,
                    fmt::format("{},{}", kUsualKinds, fmt::join(settings.more_kinds, ",")));
  }
  if (!settings.range.empty()) environment.set(trace::environment::kRange, settings.range);
  if (settings.stop_after_range) environment.set(trace::environment::kAfterRange, "stop");
  if (!settings.ranks.empty()) environment.set(trace::environment::kRanks, settings.ranks);
  if (settings.name_pytorch) {
    if (const auto hook = installation.python_hook()) {
      environment.prepend("PYTHONPATH", hook->string(), ':');
    } else {
      missing.push_back(
          "names from PyTorch: share/tferry/python is not here; keep bin/ and share/ of Tensorferry "
          "together");
    }
  }
  const auto collector = installation.library(kCollector);
  const auto theirs = environment.get(kInjection);
  if (theirs && !theirs->empty()) {
    missing.push_back(
        fmt::format("GPU activity: {}={} is yours and was kept, and only one tool can record a process; "
                    "unset it to record with Tensorferry",
                    kInjection, *theirs));
    return missing;
  }
  if (!collector) {
    missing.push_back(
        fmt::format("GPU activity: {} is not here; it is built where a CUDA toolkit 13.0 or newer is "
                    "installed",
                    kCollector));
    return missing;
  }
  environment.set(kInjection, collector->string());
  if (const auto nvtx = environment.get(kNvtxInjection); !nvtx || nvtx->empty())
    environment.set(kNvtxInjection, kCupti);
  if (const auto cupti = find_cupti(environment, settings.program)) {
    const std::string folder = offer_cupti(*cupti, run_directory).string();
    const std::string before(environment.get(kLibraryPath).value_or(""));
    environment.set(kLibraryPath, before.empty() ? folder : before + ":" + folder);
  } else {
    missing.push_back(
        fmt::format("GPU activity, unless the program brings {} itself: it was not found in CUDA_HOME, "
                    "/usr/local/cuda or the program's Python packages; set CUDA_HOME",
                    kCupti));
  }
  return missing;
}

}  // namespace tferry::cli
