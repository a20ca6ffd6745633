#include "collector/config.hpp"

#include "trace/job_environment.hpp"
#include "trace/rank.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tferry::collector {
namespace {

constexpr const char* kUsual = "kernel,memcpy,memset,sync,marker,overhead,link";

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

void add_error(Config& config, const std::string& text) {
  if (!config.error.empty()) config.error += "; ";
  config.error += text;
}

}  // namespace

bool is_structure(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ACTIVITY_KIND_CONTEXT ||
         kind == CUPTI_ACTIVITY_KIND_STREAM || kind == CUPTI_ACTIVITY_KIND_NVLINK;
}

const std::vector<CUpti_CallbackId>& blocking_driver_calls() {
  static const std::vector<CUpti_CallbackId> calls = {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
                                                      CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                                                      CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemMap,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemPoolTrimTo,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemcpy,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2,
                                                      CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
                                                      CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
                                                      CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
                                                      CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData,
                                                      CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
                                                      CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams,
                                                      CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2};
  return calls;
}

bool choose_kinds(const char* list, Config& config) {
  struct Choice {
    std::string_view name;
    std::vector<CUpti_ActivityKind> kinds;
  };
  const Choice choices[] = {
      {"kernel", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}},
      {"memcpy", {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2}},
      {"memset", {CUPTI_ACTIVITY_KIND_MEMSET}},
      {"sync", {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}},
      {"marker", {CUPTI_ACTIVITY_KIND_MARKER}},
      {"overhead", {CUPTI_ACTIVITY_KIND_OVERHEAD}},
      {"link", {CUPTI_ACTIVITY_KIND_NVLINK}},
  };
  // What says where the others happened comes first.
  config.kinds = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM};
  config.unified_memory = false;
  config.blocking_calls = false;
  bool understood = true;
  std::string_view rest = list == nullptr || *list == '\0' ? kUsual : list;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const auto choice =
        std::find_if(std::begin(choices), std::end(choices), [&](const Choice& c) { return c.name == name; });
    if (choice != std::end(choices)) {
      config.kinds.insert(config.kinds.end(), choice->kinds.begin(), choice->kinds.end());
    } else if (name == "um") {
      config.unified_memory = true;
    } else if (name == "api") {
      config.blocking_calls = true;
    } else if (!name.empty()) {
      add_error(config,
                std::string(trace::environment::kCollect) + " names '" + std::string(name) +
                    "', which is none of kernel, memcpy, memset, sync, marker, overhead, link, um, api");
      understood = false;
    }
  }
  return understood;
}

Config Config::from_environment() {
  Config config;
  config.run_directory = variable(trace::environment::kRunDirectory);
  choose_kinds(std::getenv(trace::environment::kCollect), config);
  const std::string_view limit = variable(trace::environment::kSpoolLimit);
  if (!limit.empty() && !parse_number(limit, config.spool_limit)) {
    config.spool_limit = 0;
    add_error(config, std::string(trace::environment::kSpoolLimit) + "=" + std::string(limit) +
                          " is not a number of bytes: no limit");
  }
  const std::string_view keep_last = variable(trace::environment::kKeepLast);
  if (!keep_last.empty() && !parse_number(keep_last, config.keep_last_ns)) {
    config.keep_last_ns = 0;
    add_error(config, std::string(trace::environment::kKeepLast) + "=" + std::string(keep_last) +
                          " is no time: everything is kept");
  }
  std::string range_error;
  if (!trace::RangeRequest::parse(variable(trace::environment::kRange), config.range, range_error)) {
    add_error(config, range_error + ": all of it is recorded");
  }
  config.stop_after_range = variable(trace::environment::kAfterRange) == "stop";
  if (!trace::wanted_rank(trace::Rank::from_environment(), variable(trace::environment::kRanks)))
    config.run_directory.clear();
  return config;
}

}  // namespace tferry::collector
