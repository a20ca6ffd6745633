#include "runtime/config.hpp"

#include "trace/job_environment.hpp"
#include "trace/rank.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tferry::runtime {
namespace {

namespace variables = trace::environment;

bool parse_number(std::string_view text, double& value) {
  if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return false;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  value = std::strtod(copy.c_str(), &end);
  return errno == 0 && end == copy.c_str() + copy.size() && std::isfinite(value) && value >= 0 &&
         value < 9e18;
}

bool parse_rule(std::string_view text, BudgetRule& rule) {
  if (text == "auto") {
    rule.source = trace::BudgetSource::kAuto;
    return true;
  }
  if (text == "unlimited") {
    rule.source = trace::BudgetSource::kUnlimited;
    return true;
  }
  if (text.ends_with('%')) {
    rule.source = trace::BudgetSource::kPercent;
    return parse_number(text.substr(0, text.size() - 1), rule.value) && rule.value > 0 && rule.value <= 100;
  }
  rule.source = trace::BudgetSource::kBytes;
  return parse_number(text, rule.value) && rule.value > 0;
}

/// A size in bytes from a variable, or `otherwise` when it is unset; what is not a size is noted in `error`.
std::size_t size_variable(const char* name, std::size_t otherwise, std::string& error) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  double value = 0;
  if (parse_number(text, value)) return static_cast<std::size_t>(value);
  error = std::string(name) + "=" + text + " is not a number of bytes";
  return otherwise;
}

bool flag(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

void read_coordination(Config& config) {
  const trace::Rank rank = trace::Rank::from_environment();
  config.local_rank = rank.local_rank >= 0 ? rank.local_rank : rank.rank;
  config.local_ranks = std::max(1, rank.local_size > 0 ? rank.local_size : rank.world_size);
  const char* text = std::getenv(variables::kCoordinate);
  const std::string_view mode(text == nullptr ? "" : text);
  if (mode == "interleave") {
    config.coordination = Coordination::kInterleave;
  } else if (mode == "orchestrate" || mode == "auto") {
    config.coordination = Coordination::kOrchestrate;
    config.turns_on_trial = mode == "auto";
  } else if (!mode.empty() && mode != "off") {
    config.error =
        std::string(variables::kCoordinate) + "=" + text + " is none of interleave, orchestrate and auto";
  }
  if (const char* file = std::getenv(variables::kSlotSegment)) config.slot_segment = file;
  if (const char* file = std::getenv(variables::kLinks)) config.links = file;
  config.slot_bytes = size_variable(variables::kSlotBytes, config.slot_bytes, config.error);
  const std::size_t plans = size_variable(variables::kRankPlans, 0, config.error);
  if (plans > 0 && !config.plan.empty()) {
    const auto own = static_cast<std::size_t>(std::max(config.local_rank, 0)) % plans;
    config.plan += "." + std::to_string(own);
  }
}

bool own_rank_is_wanted() {
  const char* list = std::getenv(variables::kRanks);
  return list == nullptr || trace::wanted_rank(trace::Rank::from_environment(), list);
}

}  // namespace

bool parse_budgets(const char* text, std::vector<BudgetRule>& rules) {
  std::vector<BudgetRule> parsed;
  std::string_view rest(text);
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    BudgetRule rule;
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos) {
      double device = 0;
      if (!parse_number(part.substr(0, colon), device) || device != std::floor(device) ||
          device >= trace::kMaxDevices) {
        return false;
      }
      rule.device = static_cast<int>(device);
      part = part.substr(colon + 1);
    }
    if (!parse_rule(part, rule)) return false;
    parsed.push_back(rule);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  rules = std::move(parsed);
  return true;
}

std::size_t BudgetRule::fixed(std::size_t card_total) const {
  if (source == trace::BudgetSource::kBytes) return static_cast<std::size_t>(value);
  if (source != trace::BudgetSource::kPercent) return 0;
  return static_cast<std::size_t>(std::floor(static_cast<double>(card_total) * value / 100));
}

bool parse_policy(const char* text, Policy& policy) {
  constexpr std::pair<std::string_view, Policy> kNames[] = {{"lms-early", Policy::kLmsEarly},
                                                            {"on-demand", Policy::kOnDemand},
                                                            {"lms", Policy::kLms},
                                                            {"naive-um", Policy::kNaiveManaged}};
  for (const auto& [name, value] : kNames) {
    if (name != text) continue;
    policy = value;
    return true;
  }
  return false;
}

Config Config::from_environment() {
  Config config;
  config.off = flag(variables::kOff);
  config.verify = flag(variables::kVerify);
  config.record = flag(variables::kRecord) && own_rank_is_wanted();
  config.times = flag(variables::kTimes);
  config.watch = config.record && flag(variables::kWatch);
  if (const char* directory = std::getenv(variables::kRunDirectory)) config.run_directory = directory;
  if (const char* file = std::getenv(variables::kPlan)) config.plan = file;
  if (const char* text = std::getenv(variables::kBudget)) {
    if (!parse_budgets(text, config.budgets))
      config.error = std::string(variables::kBudget) + "=" + text + " is not a budget";
  }
  config.allow_oversubscription = flag(variables::kAllowOversubscription);
  config.managed_limit = size_variable(variables::kManagedLimit, 0, config.error);
  if (const char* text = std::getenv(variables::kMemory)) {
    config.managed = std::string_view(text) == "managed";
    if (!config.managed && std::string_view(text) != "explicit")
      config.error = std::string(variables::kMemory) + "=" + text + " is neither explicit nor managed";
  }
  if (const char* text = std::getenv(variables::kPolicy)) {
    if (!parse_policy(text, config.policy))
      config.error = std::string(variables::kPolicy) + "=" + text + " is not a policy";
  }
  if (config.policy == Policy::kNaiveManaged) config.managed = true;
  config.host_budget = size_variable(variables::kHostBudget, 0, config.error);
  config.reserve = size_variable(variables::kReserve, 0, config.error);
  config.chunk_size = size_variable(variables::kChunkSize, 0, config.error);
  config.movable_size = size_variable(variables::kMovableSize, 0, config.error);
  config.spool_limit = size_variable(variables::kSpoolLimit, 0, config.error);
  if (const char* text = std::getenv(variables::kAccess)) {
    config.access_direction = std::string_view(text) == "direction";
    config.access_pages = std::string_view(text) == "pages";
    if (*text != '\0' && !config.access_direction && !config.access_pages)
      config.error = std::string(variables::kAccess) + "=" + text + " is neither direction nor pages";
  }
  config.keep_last_ns = size_variable(variables::kKeepLast, 0, config.error);
  read_coordination(config);
  if (const char* text = std::getenv(variables::kRoute)) {
    if (const auto route = trace::parse_copy_route(text, config.local_rank)) {
      config.route = *route;
    } else {
      config.error = std::string(variables::kRoute) + "=" + text + " is no route";
    }
  }
  config.log_level = static_cast<int>(size_variable(variables::kLog, 1, config.error));
  if ((config.chunk_size & (config.chunk_size - 1)) != 0) {
    config.error = std::string(variables::kChunkSize) + " is not a power of two";
    config.chunk_size = 0;
  }
  return config;
}

BudgetRule Config::budget_for(int device) const {
  BudgetRule result;
  for (const BudgetRule& rule : budgets) {
    if (rule.device == device) return rule;
    if (rule.device < 0) result = rule;
  }
  return result;
}

}  // namespace tferry::runtime
