#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace tferry::experiments {

/// Count, mean, p50, p90, p99, least and greatest of `samples`, as a JSON object; {"count": 0} when empty.
nlohmann::json summarize(std::vector<double> samples);

/// An experiment's findings, rewritten to its file after every section.
class Report {
 public:
  Report(std::string experiment, std::string path);

  /// Runs `body`, which fills the section's JSON value, and saves. An exception becomes {"error": ...} beside
  /// what the section had found, is printed, and does not end the experiment.
  void section(const std::string& name, const std::function<void(nlohmann::json&)>& body);

  /// Sections that ended with an error.
  int failures() const { return failures_; }

 private:
  void save() const;

  std::string path_;
  nlohmann::json root_;
  int failures_ = 0;
};

}  // namespace tferry::experiments
