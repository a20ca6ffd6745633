#include "cli/doctor/machine.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/resource.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostCpus = 1 << 16;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string value_in(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest != text.data() ? std::optional(value) : std::nullopt;
}

/// The process's control group of version 2, as a folder below the mount.
fs::path control_group(const fs::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    const fs::path group = fs::path(line.substr(3)).relative_path().lexically_normal();
    return root / "sys/fs/cgroup" / (group.empty() || *group.begin() == ".." ? fs::path() : group);
  }
  return root / "sys/fs/cgroup";
}

/// The quota over the period of "200000 100000"; unset for "max 100000".
std::optional<double> cpu_limit(const std::string& line) {
  const auto quota = parse<double>(line);
  const std::size_t space = line.find(' ');
  const auto period =
      space == std::string::npos ? std::nullopt : parse<double>(std::string_view(line).substr(space + 1));
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

std::set<int> parse_cpu_list(const std::string& text) {
  std::set<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto first = parse<int>(part);
    const std::size_t dash = part.find('-');
    const auto last = dash == std::string::npos ? first : parse<int>(std::string_view(part).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

Machine read_machine(const fs::path& root) {
  Machine machine;
  const std::string restricted = value_in(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly:");
  if (!restricted.empty()) machine.counters_for_all = restricted == "0";
  std::error_code error;
  machine.managed_memory_driver =
      fs::exists(root / "sys/module/nvidia_uvm", error) || fs::exists(root / "dev/nvidia-uvm", error);
  machine.allowed_cpus = parse_cpu_list(value_in(root / "proc/self/status", "Cpus_allowed_list:"));
  for (fs::directory_iterator entry(root / "sys/devices/system/node", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto node = name.starts_with("node") ? parse<int>(std::string_view(name).substr(4)) : std::nullopt;
    if (!node) continue;
    // A node without CPUs has memory only.
    if (const auto cpus = parse_cpu_list(first_line(entry->path() / "cpulist")); !cpus.empty())
      machine.cpus_of_node[*node] = cpus;
  }
  const fs::path group = control_group(root);
  machine.cpu_limit = cpu_limit(first_line(group / "cpu.max"));
  machine.process_limit = parse<std::int64_t>(first_line(group / "pids.max"));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    machine.file_limit = static_cast<std::int64_t>(files.rlim_cur);
  }
  return machine;
}

}  // namespace tferry::cli
