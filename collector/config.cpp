#include "collector/config.hpp"

#include "trace/job_environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tferry::collector {
namespace {

constexpr const char* kUsual = "kernel,memcpy,memset,sync,marker,overhead";

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool parse_bytes(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

void add_error(Config& config, const std::string& text) {
  if (!config.error.empty()) config.error += "; ";
  config.error += text;
}

}  // namespace

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
  };
  // What says where the others happened comes first.
  config.kinds = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM};
  config.unified_memory = false;
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
    } else if (!name.empty()) {
      add_error(config, std::string(trace::environment::kCollect) + " names '" + std::string(name) +
                            "', which is none of kernel, memcpy, memset, sync, marker, overhead, um");
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
  if (!limit.empty() && !parse_bytes(limit, config.spool_limit)) {
    config.spool_limit = 0;
    add_error(config, std::string(trace::environment::kSpoolLimit) + "=" + std::string(limit) +
                          " is not a number of bytes: no limit");
  }
  return config;
}

}  // namespace tferry::collector
