#include "cli/job/pytorch_allocator.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"

#include <fmt/format.h>

#include <vector>

namespace tferry::cli {
namespace {

constexpr std::string_view kNoCaching = "PYTORCH_NO_CUDA_MEMORY_CACHING";
constexpr std::string_view kCudaSettings = "PYTORCH_CUDA_ALLOC_CONF";
constexpr std::string_view kSettings = "PYTORCH_ALLOC_CONF";

std::vector<std::string_view> split_settings(std::string_view settings) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= settings.size(); ++i) {
    if (i < settings.size()) {
      if (settings[i] == '[') ++depth;
      if (settings[i] == ']') --depth;
      if (settings[i] != ',' || depth > 0) continue;
    }
    if (i > begin) items.push_back(settings.substr(begin, i - begin));
    begin = i + 1;
  }
  return items;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool has_key(std::string_view item, std::string_view key) {
  return trim(item.substr(0, item.find(':'))) == key;
}

bool chooses_async(std::string_view settings) {
  for (const std::string_view item : split_settings(settings)) {
    if (has_key(item, "backend")) return item.find("cudaMallocAsync") != std::string_view::npos;
  }
  return false;
}

}  // namespace

PytorchAllocator parse_pytorch_allocator(std::string_view text) {
  if (text == "auto") return PytorchAllocator::kAuto;
  if (text == "uncached") return PytorchAllocator::kUncached;
  if (text == "async") return PytorchAllocator::kAsync;
  if (text == "native") return PytorchAllocator::kNative;
  throw Failure(fmt::format("--allocator: \"{}\" is unknown", text), "write auto, uncached, async or native");
}

std::string merge_allocator_setting(std::string_view settings, std::string_view key, std::string_view value) {
  std::string merged;
  for (const std::string_view item : split_settings(settings)) {
    if (has_key(item, key)) continue;
    merged.append(item).append(",");
  }
  return merged.append(key).append(":").append(value);
}

std::string apply_pytorch_allocator(PytorchAllocator choice, Environment& environment) {
  const std::string cuda(environment.get(kCudaSettings).value_or(""));
  const std::string any(environment.get(kSettings).value_or(""));
  if (choice == PytorchAllocator::kNative) return "PyTorch's allocator is left as it is";
  if (choice == PytorchAllocator::kAuto) {
    if (environment.get(kNoCaching)) return "PyTorch's caching is off already";
    if (chooses_async(any.empty() ? cuda : any))
      return "PyTorch's stream-ordered allocator is kept as you set it";
    choice = PytorchAllocator::kUncached;
  }
  if (choice == PytorchAllocator::kUncached) {
    environment.set(kNoCaching, "1");
    return "PyTorch's caching is turned off, so that each tensor can move";
  }
  environment.set(kSettings, merge_allocator_setting(any.empty() ? cuda : any, "backend", "cudaMallocAsync"));
  environment.set(kCudaSettings,
                  merge_allocator_setting(cuda.empty() ? any : cuda, "backend", "cudaMallocAsync"));
  return "PyTorch's stream-ordered allocator is chosen, so that each tensor can move";
}

}  // namespace tferry::cli
