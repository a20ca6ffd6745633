#include "cli/job/job_settings.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "trace/job_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <system_error>
#include <vector>

namespace tferry::cli {
namespace {

namespace names = trace::environment;

constexpr const char* kPreload = "LD_PRELOAD";
constexpr std::int64_t kSmallestChunk = 64LL << 10, kLargestChunk = 1LL << 30;

std::string preloadable_path(const std::filesystem::path& library,
                             const std::filesystem::path& run_directory) {
  if (library.string().find_first_of(" :") == std::string::npos) return library.string();
  const std::filesystem::path link = run_directory / library.filename();
  std::error_code error;
  std::filesystem::create_symlink(library, link, error);
  if (error || link.string().find_first_of(" :") != std::string::npos) {
    throw Failure(fmt::format("{} cannot be preloaded: its path has a space or a colon", library.string()),
                  "move Tensorferry to a path without");
  }
  return link.string();
}

}  // namespace

std::int64_t parse_chunk(const std::string& text) {
  const std::int64_t bytes = parse_bytes(text, "--chunk");
  if (bytes < kSmallestChunk || bytes > kLargestChunk ||
      !std::has_single_bit(static_cast<std::uint64_t>(bytes))) {
    throw Failure(fmt::format("--chunk: {} is no power of two from 64KiB to 1GiB", text),
                  "write 2MiB, 8MiB or 32MiB");
  }
  return bytes;
}

std::string apply_settings(const JobSettings& settings, const std::filesystem::path& runtime_library,
                           const std::filesystem::path& run_directory, Environment& environment) {
  environment.prepend(kPreload, preloadable_path(runtime_library, run_directory), ':');
  environment.set(names::kRunDirectory, run_directory.string());
  environment.set(names::kBudget, settings.budget.to_environment());
  const auto set_bytes = [&environment](const char* name, const std::optional<std::int64_t>& bytes) {
    if (bytes) environment.set(name, std::to_string(*bytes));
  };
  set_bytes(names::kHostBudget, settings.host_budget);
  set_bytes(names::kReserve, settings.reserve);
  set_bytes(names::kChunkSize, settings.chunk);
  set_bytes(names::kMovableSize, settings.movable);
  set_bytes(names::kManagedLimit, settings.managed_limit);
  if (settings.memory != "explicit") environment.set(names::kMemory, settings.memory);
  if (!settings.policy.empty()) environment.set(names::kPolicy, settings.policy);
  if (!settings.route.empty()) environment.set(names::kRoute, settings.route);
  if (settings.allow_oversubscription) environment.set(names::kAllowOversubscription, "1");
  if (settings.verify) environment.set(names::kVerify, "1");
  if (settings.quiet) environment.set(names::kLog, "0");
  if (settings.detailed) environment.set(names::kLog, "2");
  return apply_pytorch_allocator(settings.allocator, environment);
}

std::string describe_changes(const Environment& environment) {
  std::vector<std::string> others, ours;
  for (const Environment::Change& change : environment.changes()) {
    if (change.name.starts_with("TFERRY_")) {
      ours.push_back(change.name);
    } else if (change.name == kPreload) {
      others.push_back(change.before && !change.before->empty() ? "LD_PRELOAD (ours in front of yours)"
                                                                : kPreload);
    } else {
      others.push_back(fmt::format("{}={}", change.name, change.value));
    }
  }
  others.insert(others.end(), ours.begin(), ours.end());
  return fmt::format("environment: {}", fmt::join(others, ", "));
}

std::string list_changes(const Environment& environment) {
  std::vector<std::string> lines;
  for (const Environment::Change& change : environment.changes()) {
    lines.push_back(fmt::format("  {}={}", change.name, change.value));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace tferry::cli
