#include "benchmarks/tferry_bench/result.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tferry::benchmarks {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& json, const char* name) {
  static const Json kNull;
  const auto found = json.find(name);
  return found == json.end() ? kNull : *found;
}

std::string text(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_string() || value.get<std::string>().empty())
    throw BadResult(std::string(name) + " is missing");
  return value.get<std::string>();
}

std::vector<double> samples(const Json& json, const char* side, const char* field, bool positive) {
  const Json& side_json = member(json, side);
  const Json& list = side_json.is_object() ? member(side_json, field) : side_json;
  const std::string name = std::string(side) + "." + field;
  if (!list.is_array() || list.empty()) throw BadResult(name + " has no samples");
  std::vector<double> values;
  for (const Json& item : list) {
    if (!item.is_number()) throw BadResult(name + " holds something that is no number");
    const auto value = item.get<double>();
    if (!std::isfinite(value) || (positive && value <= 0))
      throw BadResult(name + " holds an impossible time");
    values.push_back(value);
  }
  return values;
}

Metric parse_metric(const Json& json) {
  const Json& metric = member(json, "metric");
  if (metric.is_null() || metric == "ratio") return Metric::kRatio;
  if (metric == "slowdown") return Metric::kSlowdown;
  if (metric == "time") return Metric::kTime;
  if (metric == "value") return Metric::kValue;
  throw BadResult("metric is none of ratio, slowdown, time, value");
}

}  // namespace

bool Target::met_by(double measured) const {
  if (op == ">=") return measured >= value;
  if (op == "<=") return measured <= value;
  return measured == value;
}

std::optional<Target> parse_target(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Target target;
  if (!json.is_object()) throw BadResult("target is no object");
  target.op = text(json, "op");
  if (target.op != ">=" && target.op != "<=" && target.op != "==")
    throw BadResult("target.op is none of >=, <=, ==");
  const Json& value = member(json, "value");
  if (!value.is_number()) throw BadResult("target.value is no number");
  target.value = value.get<double>();
  return target;
}

Json to_json(const Target& target) { return {{"op", target.op}, {"value", target.value}}; }

std::string file_name(const std::string& claim) {
  std::string name;
  char before = '/';
  for (const char c : claim) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-' || c == '/';
    if (!plain || (c == '/' && before == '/')) throw BadResult("claim \"" + claim + "\" is no name");
    name += c == '/' ? "__" : std::string(1, c);
    before = c;
  }
  if (before == '/') throw BadResult("claim \"" + claim + "\" is no name");
  return name + ".json";
}

Result::Result(Json json) : json_(std::move(json)) {
  if (!json_.is_object()) throw BadResult("it is no JSON object");
  if (member(json_, "schema") != kResultSchema)
    throw BadResult(std::string("schema is not ") + kResultSchema);
  claim_ = text(json_, "claim");
  file_name(claim_);
  kind_ = text(json_, "kind");
  static constexpr std::array kKinds{"measured", "simulated", "emulated", "not_run"};
  if (std::find(kKinds.begin(), kKinds.end(), kind_) == kKinds.end()) {
    throw BadResult("kind is none of measured, simulated, emulated, not_run");
  }
  metric_ = parse_metric(json_);
  target_ = parse_target(member(json_, "target"));
  if (json_.contains("note") && !json_["note"].is_string()) throw BadResult("note is no text");
  if (!was_run()) return;
  for (const char* name : {"command", "git", "date"}) text(json_, name);
  const Json& machine = member(json_, "machine");
  if (!machine.is_object()) throw BadResult("machine is missing");
  if (kind_ == "measured") text(machine, "gpu");
  subject_ = samples(json_, "subject", metric_ == Metric::kValue ? "samples" : "samples_ns",
                     metric_ != Metric::kValue);
  if (metric_ == Metric::kRatio || metric_ == Metric::kSlowdown) {
    baseline_ = samples(json_, "baseline", "samples_ns", true);
    if (baseline_.size() != subject_.size()) {
      throw BadResult("subject and baseline are not paired: " + std::to_string(subject_.size()) + " and " +
                      std::to_string(baseline_.size()) + " samples");
    }
  }
  const Json& bound = member(json_, "bound_ns");
  if (bound.is_number()) bound_ns_ = bound.get<double>();
}

std::vector<double> Result::metric_samples() const {
  std::vector<double> values = subject_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (metric_ == Metric::kRatio) values[i] = baseline_[i] / subject_[i];
    if (metric_ == Metric::kSlowdown) values[i] = subject_[i] / baseline_[i];
    if (metric_ == Metric::kTime) values[i] = subject_[i] / 1e6;
  }
  return values;
}

double Result::metric_at_bound() const {
  if (metric_ == Metric::kRatio) return median(baseline_) / bound_ns_;
  if (metric_ == Metric::kSlowdown) return bound_ns_ / median(baseline_);
  return bound_ns_ / 1e6;
}

std::optional<Interval> Result::measured() const {
  if (!was_run()) return std::nullopt;
  return median_interval(metric_samples());
}

std::string Result::verdict() const {
  const auto interval = measured();
  if (!interval) return "not_run";
  if (!target_) return "none";
  if (metric_ == Metric::kValue) {
    return std::all_of(subject_.begin(), subject_.end(), [&](double v) { return target_->met_by(v); })
               ? "met"
               : "missed";
  }
  if (target_->met_by(interval->median)) return "met";
  return bound_ns_ > 0 && !target_->met_by(metric_at_bound()) ? "bound_forbids" : "missed";
}

Json Result::completed() const {
  Json json = json_;
  json["schema"] = kResultSchema;
  if (const auto interval = measured()) {
    json["ratio"] = {{"median", interval->median},
                     {"low", interval->low},
                     {"high", interval->high},
                     {"coverage", interval->coverage},
                     {"samples", subject_.size()}};
  } else {
    json.erase("ratio");
  }
  json["verdict"] = verdict();
  return json;
}

}  // namespace tferry::benchmarks
