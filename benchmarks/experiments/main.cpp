#include "benchmarks/experiments/driver.hpp"
#include "benchmarks/experiments/experiments.hpp"

#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>

namespace ex = tferry::experiments;

int main(int argument_count, char** arguments) {
  const std::map<std::string, std::function<void(ex::Report&)>> experiments = {
      {"set_access", ex::run_set_access}, {"copy_pieces", ex::run_copy_pieces},
      {"host_alloc", ex::run_host_alloc}, {"scan", ex::run_scan},
      {"pdl_alias", ex::run_pdl_alias},   {"remap_under_load", ex::run_remap_under_load},
      {"interleave", ex::run_interleave}, {"small_copies", ex::run_small_copies},
      {"managed", ex::run_managed}};
  if (argument_count != 3 || !experiments.contains(arguments[1])) {
    std::fprintf(stderr, "usage: tferry-experiments NAME OUT.json, NAME one of:");
    for (const auto& [name, run] : experiments) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const std::string name = arguments[1];
  ex::Report report(name, arguments[2]);
  try {
    ex::use_device();
    experiments.at(name)(report);
  } catch (const std::exception& error) {
    report.section("fatal", [&](nlohmann::json& found) { found["error"] = error.what(); });
    return 1;
  }
  return report.failures() == 0 ? 0 : 1;
}
