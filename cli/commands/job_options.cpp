#include "cli/commands/job_options.hpp"

#include "cli/byte_size.hpp"
#include "cli/commands/common_options.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/program_path.hpp"
#include "trace/copy_route.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace tferry::cli {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::optional<std::int64_t> optional_bytes(const std::string& text, std::string_view option) {
  return text.empty() ? std::nullopt : std::optional(parse_bytes(text, option));
}

}  // namespace

void JobOptions::add_to(CLI::App& command) {
  command
      .add_option("--budget", budget,
                  "GPU memory for the program's allocations: auto, 9.8GiB, 80%, 0:24GiB,1:40GiB, unlimited")
      ->type_name("BUDGET")
      ->capture_default_str();
  command.add_option("--host-budget", host_budget, "Host memory for parked contents")->type_name("SIZE");
  command.add_option("--reserve", reserve, "What an automatic budget leaves free on the card")
      ->type_name("SIZE");
  command.add_flag("--verify", verify, "Check every parked content when it returns (slow)");
  command
      .add_option("--allocator", allocator, "How PyTorch's tensors are seen: auto, uncached, async, native")
      ->capture_default_str();
  command.add_option("--chunk", chunk, "Size of one piece of device memory, a power of two")
      ->type_name("SIZE");
  command.add_option("--movable", movable, "Allocations from this size on can move")->type_name("SIZE");
}

void JobOptions::add_ways_to(CLI::App& command) {
  command
      .add_option("--memory", memory,
                  "explicit: our own copies behind fixed addresses; managed: CUDA managed memory, prefetched "
                  "at launch")
      ->check(CLI::IsMember({"explicit", "managed"}))
      ->capture_default_str();
  command
      .add_option(
          "--policy", policy,
          "What leaves when: lookahead (the default: a plan, --plan's or one made while the job runs); "
          "without one "
          "lms, lms-early, on-demand; pump: managed memory, as --memory managed; naive-um emulates managed "
          "memory without prefetch in a card of the budget's size")
      ->check(CLI::IsMember({"lookahead", "lms", "lms-early", "on-demand", "pump", "naive-um"}));
  command
      .add_option(
          "--route", route,
          "By which links contents move: direct (the default, auto): each GPU's own; neighbour: another "
          "GPU's, and NVLink; both; neighbour:N and both:N name the GPU; with commas: by local rank")
      ->type_name("ROUTE,...");
  command.add_flag("--allow-oversubscription", allow_oversubscription,
                   "Let --memory managed ask for more than the card has free (that can hang a GPU)");
  command
      .add_option("--managed-limit", managed_limit,
                  "Managed memory at most, where several jobs or ranks share a GPU; without it as much as is "
                  "free when the job begins")
      ->type_name("SIZE");
}

JobSettings JobOptions::settings(const CommonOptions& common) const {
  JobSettings settings;
  settings.budget = Budget::parse(budget);
  settings.allocator = parse_pytorch_allocator(allocator);
  settings.host_budget = optional_bytes(host_budget, "--host-budget");
  settings.reserve = optional_bytes(reserve, "--reserve");
  settings.movable = optional_bytes(movable, "--movable");
  if (!chunk.empty()) settings.chunk = parse_chunk(chunk);
  settings.memory = policy == "pump" ? "managed" : memory;
  const bool managed = settings.memory == "managed" || policy == "naive-um";
  if (policy == "lookahead" && managed) {
    throw Failure("--policy lookahead is about our own copies, and managed memory is moved by the driver",
                  "leave one of them out");
  }
  if (policy != "pump" && policy != "lookahead") settings.policy = policy;
  settings.allow_oversubscription = allow_oversubscription;
  settings.route = route;
  if (!route.empty() && !trace::parse_copy_route(route, 0)) {
    throw Failure(fmt::format("--route: {} is no route", route),
                  "write direct, neighbour, both, or neighbour:N with the number of the GPU to go by");
  }
  if (!route.empty() && managed) {
    throw Failure("--route is about our own copies, and managed memory is moved by the driver",
                  "leave one of them out");
  }
  settings.verify = verify;
  if (verify && managed) {
    throw Failure("--verify checks our own copies, and managed memory is moved by the driver",
                  "leave one of them out");
  }
  if (allow_oversubscription && settings.memory != "managed")
    throw Failure("--allow-oversubscription is about managed memory",
                  "add --memory managed, or leave it out");
  settings.managed_limit = optional_bytes(managed_limit, "--managed-limit");
  if (settings.managed_limit && !managed)
    throw Failure("--managed-limit is about managed memory", "add --memory managed, or leave it out");
  settings.quiet = common.quiet;
  settings.detailed = common.verbose;
  return settings;
}

JobCommand find_job(const std::vector<std::string>& words, const Environment& environment) {
  if (words.empty())
    throw Failure("no program to run", "write tferry COMMAND [OPTIONS] PROGRAM ARGUMENTS...");
  JobCommand job;
  job.arguments = words;
  job.file = resolve_program(words.front(), environment.get("PATH").value_or(kDefaultPath));
  return job;
}

}  // namespace tferry::cli
