#include "cli/commands/import.hpp"

#include "analyzer/session/workload_session.hpp"
#include "analyzer/workload/json.hpp"
#include "analyzer/workload/validate.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/output_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tferry::cli {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
constexpr int kIterations = 4;  // analysis needs three

analyzer::Workload read_workload(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) throw Failure(path + " cannot be read", "name a workload in JSON, see docs/workload.md");
  if (size > kMostBytes) {
    throw Failure(fmt::format("{} has {} bytes, more than a workload may have", path, size),
                  "name another file");
  }
  try {
    return analyzer::workload_from_json(std::string(std::istreambuf_iterator<char>(in), {}));
  } catch (const analyzer::WorkloadError& problem) {
    throw Failure(fmt::format("{}: {}", path, problem.what()), "docs/workload.md tells the form");
  }
}

void write_session(const analyzer::Workload& workload, const std::string& path, bool force) {
  trace::SessionWriter writer = trace::SessionWriter::create(path, {.force = force, .build_directory = {}});
  writer.set_meta("recorded_by", "tferry import");
  writer.set_meta("workload.source", workload.source);
  trace::LinkRow link{.id = 1, .kind = "pcie", .upstream = "host", .device_id = 1};
  link.h2d_bytes_per_second = workload.link.in * 1e9;
  link.d2h_bytes_per_second = workload.link.out * 1e9;
  link.duplex_h2d_bytes_per_second = workload.link.duplex_in * 1e9;
  link.duplex_d2h_bytes_per_second = workload.link.duplex_out * 1e9;
  link.known_by = "assumed";
  writer.insert(link);
  analyzer::WorkloadSession session(workload, writer, workload.name);
  for (int i = 0; i < kIterations; ++i) session.iteration();
  session.finish();
  writer.publish();
}

}  // namespace

CLI::App* ImportCommand::add_to(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("import", "Make a session of a workload in JSON, to analyze and plan it");
  app->add_option("FILE", source_, "The workload (docs/workload.md)")->required()->type_name("WORKLOAD.json");
  app->add_option("-o,--output", output_, "The session's file")->required()->type_name("FILE");
  common_.add_to(*app, "what was imported");
  return app;
}

int ImportCommand::execute() const {
  const Console console(common_.verbosity());
  const analyzer::Workload workload = read_workload(source_);
  const OutputFile output(output_, common_.force);
  write_session(workload, output.path().string(), common_.force);
  console.notice(
      fmt::format("session: {0} ({1}: {2} operations, {3} tensors); next: tferry analyze {0} --budget {4}",
                  output.path().string(), workload.name, workload.operations.size(), workload.tensors.size(),
                  workload.budget));
  if (!common_.json_file.empty()) {
    OutputFile(common_.json_file, common_.force)
        .publish(fmt::format("{{\"operations\": {}, \"tensors\": {}, \"budget_bytes\": {}}}\n",
                             workload.operations.size(), workload.tensors.size(), workload.budget));
  }
  return kOk;
}

}  // namespace tferry::cli
