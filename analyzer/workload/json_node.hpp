#pragma once

#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tferry::analyzer {

/// Parses, or throws WorkloadError that says at which byte it failed.
inline nlohmann::ordered_json parse_json(std::string_view text, const std::string& what) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw WorkloadError(what, fmt::format("not JSON: {}", error.what()));
  }
}

/// A value of a document and where it stands in it. Whatever is not as expected throws WorkloadError with the
/// place. The document must outlive its nodes.
class JsonNode {
 public:
  JsonNode(const nlohmann::ordered_json& value, std::string place)
      : value_(value), place_(std::move(place)) {}

  JsonNode at(const char* key) const {
    if (!value_.is_object()) throw WorkloadError(place_, "an object is expected here");
    const auto found = value_.find(key);
    const std::string place = place_.empty() ? key : place_ + "." + key;
    if (found == value_.end()) throw WorkloadError(place, "is missing");
    return {*found, place};
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }

  std::vector<JsonNode> items() const {
    if (!value_.is_array()) throw WorkloadError(place_, "a list is expected here");
    std::vector<JsonNode> all;
    for (std::size_t i = 0; i < value_.size(); ++i)
      all.emplace_back(value_[i], fmt::format("{}[{}]", place_, i));
    return all;
  }
  std::string text() const {
    if (!value_.is_string()) throw WorkloadError(place_, "a text is expected here");
    return value_.get<std::string>();
  }
  double number() const {
    if (!value_.is_number()) throw WorkloadError(place_, "a number is expected here");
    return value_.get<double>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) throw WorkloadError(place_, "true or false is expected here");
    return value_.get<bool>();
  }
  std::int64_t integer(std::int64_t most) const {
    const bool whole = value_.is_number_integer();
    if (!whole || value_.get<double>() < 0 || value_.get<double>() > static_cast<double>(most)) {
      throw WorkloadError(place_, fmt::format("a whole number from 0 to {} is expected here", most));
    }
    return value_.get<std::int64_t>();
  }
  void only(std::initializer_list<std::string_view> keys) const {
    if (!value_.is_object()) throw WorkloadError(place_, "an object is expected here");
    for (const auto& [key, ignored] : value_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw WorkloadError(place_.empty() ? key : place_ + "." + key, "is not known here");
    }
  }
  const std::string& place() const { return place_; }

 private:
  const nlohmann::ordered_json& value_;
  std::string place_;
};

}  // namespace tferry::analyzer
