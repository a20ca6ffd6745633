#include "cli/doctor/checks.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "cli/job/pytorch_allocator.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <string>
#include <string_view>
#include <system_error>

namespace tferry::cli {
namespace {

using State = Finding::State;

constexpr std::int64_t kUsefulHostMemory = 8LL << 30;
constexpr std::int64_t kUsefulSharedMemory = 256LL << 20;  // run_directory.cpp's need

std::string bytes_or_unknown(const std::optional<std::int64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : "unknown";
}

Finding describe_gpu(std::size_t index, const GpuInfo& gpu) {
  return {fmt::format("GPU {}", index), State::kUsable,
          fmt::format("{}, {} in all, {} free", gpu.name.empty() ? "name unknown" : gpu.name,
                      bytes_or_unknown(gpu.total_bytes), bytes_or_unknown(gpu.free_bytes)),
          ""};
}

/// True if the loaded library `path` itself defines `name`, rather than something that it needs.
bool defines(const std::string& path, const char* name) {
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return false;
  void* const address = ::dlsym(library, name);
  Dl_info info{};
  const bool own = address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
                   std::string_view(info.dli_fname).ends_with(path.substr(path.rfind('/') + 1));
  ::dlclose(library);
  return own;
}

Finding check_preloaded_library(const std::string& path) {
  constexpr const char* kCheck = "LD_PRELOAD";
  std::error_code ignored;
  if (path.find("libtferry_") != std::string::npos) {
    return {kCheck, State::kUsable, path + " is ours (doctor runs under tferry)", ""};
  }
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path, ignored)) {
    return {kCheck, State::kLost, path + " does not exist: it is ignored", "take it out of LD_PRELOAD"};
  }
  for (const char* name : {"cuGetProcAddress_v2", "cuMemAlloc_v2", "cuLaunchKernel"}) {
    if (!defines(path, name)) continue;
    return {kCheck, State::kLost,
            fmt::format("{} hooks the CUDA driver, too ({}): what it allocates may bypass the budget", path,
                        name),
            "run without it, if the job allows"};
  }
  return {kCheck, State::kUsable, path + " is kept behind our library", ""};
}

}  // namespace

std::vector<Finding> check_driver(const ProbeAnswer& answer) {
  if (!answer.ok) {
    return {{"driver", State::kBroken, "asking the CUDA driver failed: " + answer.text,
             "run nvidia-smi; if it hangs or fails, too, reset the GPU or restart the machine"}};
  }
  DriverInfo info;
  try {
    info = driver_info_from_json(answer.text);
  } catch (const nlohmann::json::exception& error) {
    return {{"driver", State::kBroken,
             fmt::format("the driver printed something into our answer: {}", error.what()),
             "report this with the driver's version"}};
  }
  if (!info.error.empty()) return {{"driver", State::kBroken, info.error, info.error_fix}};
  std::vector<Finding> findings;
  findings.push_back(
      {"driver", State::kUsable,
       fmt::format("CUDA {}.{}, driver {}, {}", info.cuda_version / 1000, info.cuda_version % 1000 / 10,
                   info.driver_version.empty() ? "version unknown" : info.driver_version, info.path),
       ""});
  if (info.gpus.empty()) {
    findings.push_back({"GPU", State::kBroken, "the driver knows no GPU",
                        "check nvidia-smi and CUDA_VISIBLE_DEVICES; start the container with GPUs"});
  }
  for (std::size_t i = 0; i < info.gpus.size(); ++i) findings.push_back(describe_gpu(i, info.gpus[i]));
  return findings;
}

Finding check_installation(const Installation& installation) {
  try {
    return {"runtime library", State::kUsable, installation.runtime_library().string(), ""};
  } catch (const Failure& failure) {
    return {"runtime library", State::kBroken, failure.what(), failure.remedy()};
  }
}

Finding check_host_memory(const HostMemory& memory) {
  const auto usable = memory.usable();
  const std::string limit = memory.group_limit ? format_bytes(*memory.group_limit) : "none";
  std::string text = fmt::format(
      "{} usable (control group's limit {}; the machine tells {} in all, {} available)",
      bytes_or_unknown(usable), limit, bytes_or_unknown(memory.total), bytes_or_unknown(memory.available));
  if (usable && *usable < kUsefulHostMemory) {
    return {"host memory", State::kLost, std::move(text),
            "what does not fit the GPU has to fit here: raise the container's memory limit, or end other "
            "programs"};
  }
  return {"host memory", State::kUsable, std::move(text), ""};
}

Finding check_locked_memory(std::optional<std::int64_t> limit) {
  return {"locked memory", State::kUsable,
          fmt::format("limit {}; the CUDA driver's own pinned memory does not count against it",
                      limit ? format_bytes(*limit) : "none"),
          ""};
}

Finding check_shared_memory(std::optional<std::int64_t> free_bytes) {
  if (!free_bytes || *free_bytes < kUsefulSharedMemory) {
    return {"/dev/shm", State::kLost,
            free_bytes ? fmt::format("{} free: the run directory goes to disk", format_bytes(*free_bytes))
                       : "not there: the run directory goes to disk",
            "give the container more (docker run --shm-size=1g)"};
  }
  return {"/dev/shm", State::kUsable, format_bytes(*free_bytes) + " free", ""};
}

std::vector<Finding> check_preload(const Environment& environment) {
  std::vector<Finding> findings;
  std::string rest(environment.get("LD_PRELOAD").value_or(""));
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" :");
    if (const std::string item = rest.substr(0, end); !item.empty())
      findings.push_back(check_preloaded_library(item));
    rest.erase(0, end == std::string::npos ? end : end + 1);
  }
  if (findings.empty())
    findings.push_back({"LD_PRELOAD", State::kUsable, "nothing of yours is preloaded", ""});
  return findings;
}

Finding check_pytorch(const Environment& environment) {
  Environment job = environment;
  const std::string choice = apply_pytorch_allocator(PytorchAllocator::kAuto, job);
  std::string text = "under tferry run: " + choice;
  for (const char* name :
       {"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    if (const auto value = environment.get(name)) text += fmt::format("; you set {}={}", name, *value);
  }
  return {"PyTorch", State::kUsable, std::move(text), ""};
}

}  // namespace tferry::cli
