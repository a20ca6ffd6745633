#include "cli/doctor/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimitedV1 = 1LL << 62;  // v1 writes a huge number instead of "max"

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? parse_number(line) : std::nullopt;
}

std::optional<std::int64_t> memory_line(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t digit = line.find_first_of("0123456789");
    const auto kib =
        digit == std::string::npos ? std::nullopt : parse_number(std::string_view(line).substr(digit));
    if (!kib || *kib > (INT64_MAX >> 10)) return std::nullopt;
    return *kib * 1024;
  }
  return std::nullopt;
}

struct Limit {
  std::optional<std::int64_t> limit, used;
};

/// The tightest limit on the way from `group` up to the mount.
Limit tightest(const fs::path& mount, const std::string& group, const char* limit_name,
               const char* used_name) {
  Limit best;
  fs::path below = fs::path(group).relative_path().lexically_normal();
  if (!below.empty() && *below.begin() == "..") below.clear();
  while (true) {
    const auto limit = read_number(mount / below / limit_name);
    if (limit && *limit < kUnlimitedV1 && (!best.limit || *limit < *best.limit)) {
      best = {limit, read_number(mount / below / used_name)};
    }
    if (below.empty()) return best;
    below = below.has_parent_path() ? below.parent_path() : fs::path();
  }
}

}  // namespace

std::optional<std::int64_t> HostMemory::usable() const {
  if (!group_limit) return available;
  return std::max<std::int64_t>(0, *group_limit - group_used.value_or(0));
}

HostMemory read_host_memory(const fs::path& root) {
  HostMemory memory;
  memory.total = memory_line(root / "proc/meminfo", "MemTotal:");
  memory.available = memory_line(root / "proc/meminfo", "MemAvailable:");
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    Limit limit;
    if (controllers.empty()) {
      limit = tightest(root / "sys/fs/cgroup", group, "memory.max", "memory.current");
    } else if (controllers == "memory") {
      limit =
          tightest(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    }
    if (limit.limit && (!memory.group_limit || *limit.limit < *memory.group_limit)) {
      memory.group_limit = limit.limit;
      memory.group_used = limit.used;
    }
  }
  return memory;
}

}  // namespace tferry::cli
