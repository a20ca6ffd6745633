#include "cli/commands/merge.hpp"

#include "cli/byte_size.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/session/build_session.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tferry::cli {
namespace {

constexpr std::size_t kShownLosses = 10;

std::vector<std::string> expand(const std::vector<std::string>& sources) {
  std::vector<std::string> spools;
  for (const std::string& source : sources) {
    std::error_code error;
    if (!std::filesystem::is_directory(source, error)) {
      if (!std::filesystem::exists(source, error)) {
        throw Failure(fmt::format("{} does not exist", source), "name spools, or a folder that holds them");
      }
      spools.push_back(source);
      continue;
    }
    const std::vector<std::string> found = find_spools(source);
    if (found.empty()) {
      throw Failure(fmt::format("there is no spool (spool.PID.SOURCE.N) in {}", source),
                    "name another folder");
    }
    spools.insert(spools.end(), found.begin(), found.end());
  }
  std::sort(spools.begin(), spools.end());
  spools.erase(std::unique(spools.begin(), spools.end()), spools.end());
  return spools;
}

}  // namespace

CLI::App* MergeCommand::add_to(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("merge", "Make a session of spools, also of those of a launcher that died");
  app->add_option("SPOOLS", sources_, "Spools, or folders that hold them")
      ->required()
      ->type_name("SPOOLS...");
  app->add_option("-o,--output", output_, "The session's file")->required()->type_name("FILE");
  common_.add_to(*app, "what was merged");
  return app;
}

int MergeCommand::execute() const {
  const Console console(common_.verbosity());
  const std::vector<std::string> spools = expand(sources_);
  const OutputFile output(output_, common_.force);
  SessionExtras extras;
  extras.meta = {{"recorded_by", "tferry merge"}};
  const std::vector<HostSpools> hosts = group_by_host(spools);
  const BuiltSession built = build_session(hosts, output.path(), common_.force, extras);
  for (const std::string& line : describe_losses(built.path, kShownLosses))
    console.warning("missing: " + line);
  console.notice(
      fmt::format("session: {} ({}): {} records of {} processes from {} spools, {} more were unreadable",
                  built.path.string(), format_bytes(built.bytes), built.report.records,
                  built.report.processes, built.report.spools, built.report.unreadable_spools));
  if (hosts.size() > 1) {
    console.notice(fmt::format("{} hosts: times are those of {}, and the others' may be off by {:.3f} ms",
                               hosts.size(), hosts.front().facts->host,
                               static_cast<double>(built.alignment_error_ns) / 1e6));
  }
  if (!common_.json_file.empty()) {
    OutputFile(common_.json_file, common_.force)
        .publish(fmt::format(
            "{{\"session_bytes\": {}, \"spools\": {}, \"unreadable_spools\": {}, \"processes\": {}, "
            "\"records\": {}, \"kernels\": {}, \"hosts\": {}, \"alignment_error_ns\": {}}}\n",
            built.bytes, built.report.spools, built.report.unreadable_spools, built.report.processes,
            built.report.records, built.report.kernels, hosts.size(), built.alignment_error_ns));
  }
  return built.report.spools > 0 ? kOk : kOwnFailure;
}

}  // namespace tferry::cli
