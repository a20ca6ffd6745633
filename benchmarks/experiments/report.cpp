#include "benchmarks/experiments/report.hpp"

#include "benchmarks/experiments/driver.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>

namespace tferry::experiments {

nlohmann::json summarize(std::vector<double> samples) {
  if (samples.empty()) return {{"count", 0}};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {{"count", samples.size()}, {"mean", sum / static_cast<double>(samples.size())},
          {"min", samples.front()},  {"p50", at(0.5)},
          {"p90", at(0.9)},          {"p99", at(0.99)},
          {"max", samples.back()}};
}

Report::Report(std::string experiment, std::string path) : path_(std::move(path)) {
  root_["experiment"] = std::move(experiment);
  root_["sections"] = nlohmann::json::object();
}

void Report::section(const std::string& name, const std::function<void(nlohmann::json&)>& body) {
  nlohmann::json found = nlohmann::json::object();
  const double start = now_us();
  try {
    body(found);
  } catch (const std::exception& error) {
    found["error"] = error.what();
    ++failures_;
  }
  std::printf("%s: %s  (%.2f s)\n", name.c_str(), found.dump().c_str(), (now_us() - start) / 1e6);
  std::fflush(stdout);
  root_["sections"][name] = std::move(found);
  save();
}

void Report::save() const {
  std::ofstream(path_ + ".part") << root_.dump(1) << '\n';
  std::rename((path_ + ".part").c_str(), path_.c_str());
}

}  // namespace tferry::experiments
