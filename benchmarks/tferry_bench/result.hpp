#pragma once

#include "benchmarks/tferry_bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::benchmarks {

inline constexpr const char* kResultSchema = "tferry.result/1";
inline constexpr const char* kRawSchema = "tferry.raw/1";

/// A defective file; what() says which field and what is wrong with it, without the file's name.
class BadResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a claim compares with its target.
enum class Metric {
  kRatio,     ///< baseline over subject, sample by sample: above 1 the subject is the faster one
  kSlowdown,  ///< subject over baseline, sample by sample: 1.03 is an overhead of 3 %
  kTime,      ///< the subject's times in ms
  kValue      ///< the subject's plain samples: shares, bytes, counts
};

struct Target {
  std::string op;  ///< ">=", "<=" or "=="
  double value = 0;

  bool operator==(const Target&) const = default;
  bool met_by(double measured) const;
};

/// One result file of benchmarks/results (its README.md describes the fields). The file's own JSON is kept,
/// so that what is not interpreted here survives.
class Result {
 public:
  /// Checks every field that is used; throws BadResult. The stored ratio and verdict are not trusted, only
  /// kept.
  explicit Result(nlohmann::json json);

  const std::string& claim() const { return claim_; }
  const std::string& kind() const { return kind_; }
  bool was_run() const { return kind_ != "not_run"; }
  Metric metric() const { return metric_; }
  const std::optional<Target>& target() const { return target_; }
  const nlohmann::json& json() const { return json_; }

  /// The samples that the metric is made of; empty when it was not run.
  std::vector<double> metric_samples() const;
  /// Their median and interval, computed from the samples; nothing when it was not run.
  std::optional<Interval> measured() const;
  /// met, missed, bound_forbids, not_run, or none where there is no target. bound_forbids: a target for
  /// times is missed, and a subject as fast as its bound would have missed it too.
  std::string verdict() const;

  /// The JSON with "ratio", "verdict" and the schema set to what is computed here.
  nlohmann::json completed() const;

 private:
  double metric_at_bound() const;

  nlohmann::json json_;
  std::string claim_;
  std::string kind_;
  Metric metric_ = Metric::kRatio;
  std::optional<Target> target_;
  std::vector<double> subject_;
  std::vector<double> baseline_;
  double bound_ns_ = 0;
};

/// {"op": ">=", "value": 1.2}, or null for none.
std::optional<Target> parse_target(const nlohmann::json& json);
nlohmann::json to_json(const Target& target);

/// The file that a claim is kept in: "plan.vs_lms/gpt2/1.5" -> "plan.vs_lms__gpt2__1.5.json". Throws
/// BadResult when the claim has other characters than letters, digits, '.', '_', '-' and '/', or an empty
/// part.
std::string file_name(const std::string& claim);

}  // namespace tferry::benchmarks
