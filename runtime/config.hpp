#pragma once

#include "trace/job_status.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tferry::runtime {

/// A budget as the launcher wrote it: of one device, or of all (`device` -1).
struct BudgetRule {
  int device = -1;
  trace::BudgetSource source = trace::BudgetSource::kAuto;
  double value = 0;  ///< bytes, or per cent of the card

  /// Bytes, where the rule alone says them; 0 for the others.
  std::size_t fixed(std::size_t card_total) const;
};

/// What leaves GPU memory when, without a plan.
enum class Policy {
  kLms,          ///< "lms": least recently used, a little ahead of need; the default
  kOnDemand,     ///< "on-demand": least recently used, when room is needed
  kLmsEarly,     ///< "lms-early": right after the use after which it left in an earlier iteration
  kNaiveManaged  ///< "naive-um": managed memory without prefetch, in a card of the budget's size; emulated
};
/// The policy of that name. False for others.
bool parse_policy(const char* text, Policy& policy);

/// The runtime's settings, read once from the environment (trace/job_environment.hpp).
struct Config {
  bool off = false;
  bool verify = false;
  bool record = false;
  bool times = false;                   ///< and when operations ran, by events
  bool managed = false;                 ///< managed memory with prefetch at launch, instead of our own copies
  bool allow_oversubscription = false;  ///< of managed memory
  Policy policy = Policy::kLms;
  int log_level = 1;
  std::string run_directory;  ///< empty: no status files
  std::string plan;           ///< file of the plan to follow; empty: none
  std::vector<BudgetRule> budgets;
  std::size_t host_budget = 0;   ///< bytes; 0: what the control group allows
  std::size_t reserve = 0;       ///< bytes that an automatic budget leaves free; 0: the default
  std::size_t chunk_size = 0;    ///< 0: chosen by the budget
  std::size_t movable_size = 0;  ///< 0: the default
  std::size_t spool_limit = 0;   ///< bytes at which the recording stops; 0: none
  std::string error;             ///< what could not be understood; empty: nothing

  static Config from_environment();

  /// The rule for a device: its own before the general one, automatic when there is none.
  BudgetRule budget_for(int device) const;
};

/// "auto", "unlimited", BYTES, P% or DEVICE:RULE with commas between. False, leaving `rules` as it was, on
/// other text.
bool parse_budgets(const char* text, std::vector<BudgetRule>& rules);

}  // namespace tferry::runtime
