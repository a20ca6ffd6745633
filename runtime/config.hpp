#pragma once

#include "trace/copy_route.hpp"
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

/// How the ranks of a job use the links that they share.
enum class Coordination {
  kOff,
  kInterleave,  ///< "interleave": neighbours move different tensors, each when it likes
  kOrchestrate  ///< "orchestrate": transfers take turns (coordination/coordinator.hpp)
};

/// The runtime's settings, read once from the environment (trace/job_environment.hpp).
struct Config {
  bool off = false;
  bool verify = false;
  bool record = false;
  bool times = false;                   ///< and when operations ran, by events
  bool watch = false;                   ///< the same, of a few iterations under the plan only
  bool managed = false;                 ///< managed memory with prefetch at launch, instead of our own copies
  bool allow_oversubscription = false;  ///< of managed memory
  std::size_t managed_limit = 0;        ///< bytes of managed memory at most; 0: what the card has free
  Policy policy = Policy::kLms;
  int log_level = 1;
  std::string run_directory;  ///< empty: no status files
  std::string plan;           ///< file of the plan to follow; empty: none
  std::vector<BudgetRule> budgets;
  std::size_t host_budget = 0;    ///< bytes; 0: what the control group allows
  std::size_t reserve = 0;        ///< bytes that an automatic budget leaves free; 0: the default
  std::size_t chunk_size = 0;     ///< 0: chosen by the budget
  std::size_t movable_size = 0;   ///< 0: the default
  std::size_t spool_limit = 0;    ///< bytes at which the recording stops; 0: none
  bool access_direction = false;  ///< and what launches do to memory, by trying (access_probe.hpp)
  bool access_pages = false;      ///< or by page faults (page_probe.hpp)
  std::size_t keep_last_ns = 0;   ///< only the last so long of the recording is kept; 0: everything
  trace::CopyRoute route;
  Coordination coordination = Coordination::kOff;
  bool turns_on_trial = false;                     ///< whether turns pay is measured
  std::string slot_segment;                        ///< of the job's ranks on this host
  std::string links;                               ///< file that names links; empty: none
  std::size_t slot_bytes = std::size_t{64} << 20;  ///< moved in one turn at most
  int local_rank = -1;                             ///< -1: not known
  int local_ranks = 1;                             ///< of this job on this host, as far as known
  std::string error;                               ///< what could not be understood; empty: nothing

  static Config from_environment();

  /// The rule for a device: its own before the general one, automatic when there is none.
  BudgetRule budget_for(int device) const;
};

/// "auto", "unlimited", BYTES, P% or DEVICE:RULE with commas between. False, leaving `rules` as it was, on
/// other text.
bool parse_budgets(const char* text, std::vector<BudgetRule>& rules);

}  // namespace tferry::runtime
