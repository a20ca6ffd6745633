#include "cli/doctor/finding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace tferry::cli {
namespace {

const char* state_name(Finding::State state) {
  switch (state) {
    case Finding::State::kUsable:
      return "usable";
    case Finding::State::kLost:
      return "lost";
    case Finding::State::kBroken:
      return "broken";
  }
  return "unknown";
}

}  // namespace

int exit_code_of(const std::vector<Finding>& findings) {
  int code = 0;
  for (const Finding& finding : findings) code = std::max(code, static_cast<int>(finding.state));
  return code;
}

bool matters_for(const std::string& check, const std::string& purpose) {
  constexpr std::array<std::string_view, 5> kOfProfiling = {"collector", "CUPTI", "other profilers",
                                                            "counter permission", "counters"};
  constexpr std::array<std::string_view, 4> kOfRunning = {"host memory", "locked memory", "managed memory",
                                                          "JAX"};
  const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), check) != list.end(); };
  if (purpose == "profile") return !in(kOfRunning);
  if (purpose == "run" || purpose == "coordinate") return !in(kOfProfiling);
  return true;
}

std::string findings_to_text(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    lines.push_back(fmt::format("{:<7} {:<20} {}", state_name(finding.state), finding.check, finding.text));
    if (!finding.fix.empty()) lines.push_back(fmt::format("{:<28} what to do: {}", "", finding.fix));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string findings_to_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json = {{"format", "tferry-doctor"},
                                 {"version", 1},
                                 {"tferry", TFERRY_VERSION},
                                 {"exit_code", exit_code_of(findings)},
                                 {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"check", finding.check},
                                {"state", state_name(finding.state)},
                                {"text", finding.text},
                                {"fix", finding.fix}});
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tferry::cli
