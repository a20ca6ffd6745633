#include "benchmarks/tferry_bench/record.hpp"

namespace tferry::benchmarks {

using Json = nlohmann::json;

std::vector<Result> results_from_raw(const Json& raw, const Repository& repository, const std::string& git) {
  if (!raw.is_object() || raw.value("schema", "") != kRawSchema) {
    throw BadResult(std::string("schema is not ") + kRawSchema);
  }
  const auto measurements = raw.find("measurements");
  if (measurements == raw.end() || !measurements->is_array()) throw BadResult("has no list \"measurements\"");
  std::vector<Result> results;
  for (Json measurement : *measurements) {
    const std::string claim = measurement.is_object() ? measurement.value("claim", "") : "";
    try {
      if (claim.empty()) throw BadResult("claim is missing");
      measurement["schema"] = kResultSchema;
      for (const char* name : {"date", "git", "machine"}) measurement[name] = raw.value(name, Json());
      if (measurement["git"].is_null() || measurement["git"] == "") measurement["git"] = git;
      const WantedClaim* wanted = repository.target_of(claim);
      if (wanted != nullptr) measurement["target"] = wanted->target ? to_json(*wanted->target) : Json();
      results.emplace_back(std::move(measurement));
    } catch (const BadResult& error) {
      throw BadResult("measurement " + std::to_string(results.size()) + " (" + claim + "): " + error.what());
    }
  }
  return results;
}

std::vector<Result> missing_results(const Repository& repository) {
  std::vector<Result> results;
  for (const WantedClaim& wanted : repository.targets) {
    if (repository.results.count(wanted.claim) != 0) continue;
    results.emplace_back(Json{{"schema", kResultSchema},
                              {"claim", wanted.claim},
                              {"kind", "not_run"},
                              {"target", wanted.target ? to_json(*wanted.target) : Json()},
                              {"note", "asked for by " + wanted.origin}});
  }
  return results;
}

}  // namespace tferry::benchmarks
