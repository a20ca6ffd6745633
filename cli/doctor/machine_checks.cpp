#include "cli/doctor/machine_checks.hpp"

#include "cli/job/recording_setup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr double kFewCpus = 2;
constexpr std::int64_t kFewProcesses = 256;
constexpr std::int64_t kFewFiles = 1024;

std::string lanes(PcieSpeed speed) {
  return fmt::format("generation {} x{}", speed.generation > 0 ? std::to_string(speed.generation) : "?",
                     speed.width > 0 ? std::to_string(speed.width) : "?");
}

Finding describe(const PcieLink& link) {
  const std::string check = link.gpu ? "PCIe of GPU" : "PCIe of switch";
  const std::string text = fmt::format("{}: {} of {}", link.address, lanes(link.now), lanes(link.most));
  if (link.now.width > 0 && link.most.width > 0 && link.now.width < link.most.width) {
    return {check, State::kLost, text + ": it has fewer lanes than both ends could use",
            "reseat the card or use another slot; in a cloud, ask for another machine: every transfer takes "
            "longer here"};
  }
  if (link.now.generation > 0 && link.now.generation < link.most.generation) {
    return {check, State::kUsable, text + " (an idle GPU slows its link down; look again under load)", ""};
  }
  return {check, State::kUsable, text, ""};
}

bool overlap(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int cpu) { return b.count(cpu) > 0; });
}

}  // namespace

std::vector<Finding> check_pcie(const std::vector<PcieLink>& links) {
  std::vector<Finding> findings;
  for (const PcieLink& link : links) findings.push_back(describe(link));
  if (findings.empty()) {
    findings.push_back({"PCIe", State::kUsable, "no NVIDIA GPU in sysfs: the tree of links is unknown", ""});
  }
  return findings;
}

Finding check_numa(const std::vector<PcieLink>& links, const Machine& machine) {
  constexpr const char* kCheck = "NUMA";
  if (machine.cpus_of_node.size() < 2)
    return {kCheck, State::kUsable, "one node: all memory is equally near", ""};
  std::set<int> nodes, here;
  for (const PcieLink& link : links) {
    if (link.gpu && link.numa_node >= 0) nodes.insert(link.numa_node);
  }
  for (const auto& [node, cpus] : machine.cpus_of_node) {
    if (overlap(cpus, machine.allowed_cpus)) here.insert(node);
  }
  const std::string text =
      fmt::format("GPUs at node {}, this process may run at node {}",
                  nodes.empty() ? "?" : fmt::format("{}", fmt::join(nodes, ",")), fmt::join(here, ","));
  if (nodes.empty() || here == nodes) return {kCheck, State::kUsable, text, ""};
  const bool far = std::none_of(here.begin(), here.end(), [&](int node) { return nodes.count(node) > 0; });
  return {
      kCheck, State::kLost,
      text + (far ? ": all host memory is far from the GPUs" : ": host memory may be far from a job's GPU"),
      fmt::format("bind each rank to its GPU's node, for one rank: numactl --cpunodebind={0} --membind={0} "
                  "tferry ...",
                  *nodes.begin())};
}

Finding check_limits(const Machine& machine) {
  std::vector<std::string> parts, fixes;
  parts.push_back(machine.cpu_limit ? fmt::format("{:.1f} CPUs", *machine.cpu_limit) : "CPUs unlimited");
  if (machine.cpu_limit && *machine.cpu_limit < kFewCpus)
    fixes.emplace_back("give the container at least 2 CPUs (--cpus)");
  parts.push_back(machine.process_limit ? fmt::format("{} processes", *machine.process_limit)
                                        : "processes unlimited");
  if (machine.process_limit && *machine.process_limit < kFewProcesses) {
    fixes.emplace_back("allow more processes (--pids-limit): each thread counts");
  }
  parts.push_back(machine.file_limit ? fmt::format("{} open files", *machine.file_limit)
                                     : "open files unlimited");
  if (machine.file_limit && *machine.file_limit < kFewFiles)
    fixes.emplace_back("raise ulimit -n to 1024 or more");
  return {"limits", fixes.empty() ? State::kUsable : State::kLost, fmt::format("{}", fmt::join(parts, ", ")),
          fmt::format("{}", fmt::join(fixes, "; "))};
}

Finding check_managed_memory(const Machine& machine) {
  if (machine.managed_memory_driver)
    return {"managed memory", State::kUsable, "the kernel module nvidia_uvm is there", ""};
  return {"managed memory", State::kLost,
          "the kernel module nvidia_uvm is not there: CUDA may not start, --memory managed will not",
          "modprobe nvidia_uvm, or give the container /dev/nvidia-uvm"};
}

Finding check_counter_permission(const Machine& machine, bool root) {
  constexpr const char* kCheck = "counter permission";
  if (!machine.counters_for_all) {
    return {kCheck, State::kUsable, "the driver does not tell (no /proc/driver/nvidia/params); see counters",
            ""};
  }
  if (*machine.counters_for_all || root) {
    return {kCheck, State::kUsable,
            *machine.counters_for_all ? "given to every user" : "given to root, which this is", ""};
  }
  return {kCheck, State::kLost, "performance counters are for administrators only (RmProfilingAdminOnly: 1)",
          "set the driver option NVreg_RestrictProfilingToAdminUsers=0 (a file in /etc/modprobe.d, then "
          "reboot), or give the "
          "process the capability CAP_SYS_ADMIN (docker run --cap-add=SYS_ADMIN)"};
}

Finding check_counters(const CounterTrial& trial) {
  constexpr const char* kCheck = "counters";
  if (!trial.here) {
    return {kCheck, State::kLost, "tferry-sampler is not here",
            "it is built where a CUDA toolkit 13.0 or newer is (./bootstrap build)"};
  }
  if (trial.gpus > 0 && trial.losses.empty()) {
    return {kCheck, State::kUsable, fmt::format("{} GPUs can be sampled", trial.gpus), ""};
  }
  const std::string why =
      !trial.losses.empty() ? fmt::format("{}", fmt::join(trial.losses, "; ")) : trial.problem;
  return {kCheck, State::kLost,
          trial.gpus > 0 ? fmt::format("{} GPUs can be sampled, but not all in full: {}", trial.gpus, why)
                         : "nothing can be sampled: " + why,
          "end other tools that hold the counters (dcgm: dcgmi profile --pause; ncu; another tferry), and "
          "see counter permission"};
}

Finding check_cupti(const std::optional<fs::path>& offered, const ProbeAnswer& version,
                    const std::optional<fs::path>& in_library_path) {
  constexpr const char* kCheck = "CUPTI";
  const auto& used = in_library_path ? in_library_path : offered;
  if (!used) {
    return {
        kCheck, State::kLost,
        "libcupti.so.13 was not found: GPU activity of programs that do not bring it is not recorded",
        "set CUDA_HOME to a CUDA toolkit 13, or pip install nvidia-cuda-cupti in the program's environment"};
  }
  const std::string where = used->string() + (in_library_path ? " (from LD_LIBRARY_PATH)" : "");
  if (!version.ok || version.text.empty()) {
    return {kCheck, State::kLost,
            fmt::format("{} cannot be loaded: {}", where, version.text.empty() ? "no answer" : version.text),
            in_library_path ? "take its folder out of LD_LIBRARY_PATH"
                            : "reinstall the toolkit, or set CUDA_HOME to another"};
  }
  if (in_library_path && offered && !fs::equivalent(*in_library_path, *offered)) {
    return {
        kCheck, State::kUsable,
        fmt::format("{}, {}; not {}, which we would have offered", version.text, where, offered->string()),
        ""};
  }
  return {kCheck, State::kUsable, fmt::format("{}, {}", version.text, where), ""};
}

std::optional<fs::path> cupti_in_library_path(const Environment& environment) {
  std::string rest(environment.get("LD_LIBRARY_PATH").value_or(""));
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, end)) / "libcupti.so.13";
    std::error_code error;
    if (fs::exists(candidate, error)) return candidate;
    rest.erase(0, end == std::string::npos ? end : end + 1);
  }
  return std::nullopt;
}

Finding check_collector(const Installation& installation) {
  if (const auto library = installation.library("libtferry_collector.so")) {
    return {"collector", State::kUsable, library->string(), ""};
  }
  return {"collector", State::kLost, "libtferry_collector.so is not here: no GPU activity can be recorded",
          "it is built where a CUDA toolkit 13.0 or newer is (./bootstrap build)"};
}

Finding check_injection(const Environment& environment) {
  std::vector<std::string> set;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (const auto value = environment.get(name);
        value && !value->empty() && value->find("tferry") == std::string_view::npos) {
      set.push_back(fmt::format("{}={}", name, *value));
    }
  }
  if (set.empty()) return {"other profilers", State::kUsable, "none is injected by the environment", ""};
  return {"other profilers", State::kLost,
          fmt::format("{}: only one tool can record a process, and yours is kept", fmt::join(set, ", ")),
          "unset it to record with Tensorferry"};
}

Finding check_jax(const Environment& environment) {
  const auto is = [&](const char* name, std::string_view value) {
    return environment.get(name).value_or("") == value;
  };
  const bool grows =
      is("XLA_PYTHON_CLIENT_PREALLOCATE", "false") || is("XLA_PYTHON_CLIENT_ALLOCATOR", "platform");
  std::vector<std::string> set;
  for (const char* name : {"XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION",
                           "XLA_PYTHON_CLIENT_ALLOCATOR", "TF_GPU_ALLOCATOR", "TF_FORCE_GPU_ALLOW_GROWTH"}) {
    if (const auto value = environment.get(name)) set.push_back(fmt::format("{}={}", name, *value));
  }
  const std::string yours =
      set.empty() ? "you set none of its variables" : fmt::format("you set {}", fmt::join(set, ", "));
  if (grows) return {"JAX", State::kUsable, yours, ""};
  // A machine without JAX loses nothing by this, so that it is said and no loss.
  return {"JAX", State::kUsable,
          yours +
              "; it takes 75 % of the GPU at its start, in one piece, unless "
              "XLA_PYTHON_CLIENT_ALLOCATOR=platform shows "
              "its arrays one by one",
          ""};
}

}  // namespace tferry::cli
