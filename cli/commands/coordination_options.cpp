#include "cli/commands/coordination_options.hpp"

#include "analyzer/planner/coordination.hpp"
#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "cli/job/link_groups.hpp"
#include "cli/plan/planned_run.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace tferry::cli {
namespace {

using analyzer::Coordination;
using trace::SlotOrder;

const std::map<std::string, SlotOrder> kOrders{{"fixed", SlotOrder::kFixed},
                                               {"rotating", SlotOrder::kRotating},
                                               {"deadline", SlotOrder::kDeadline},
                                               {"behind", SlotOrder::kBehind}};

/// The order of turns that comes nearest to a simulated mode.
SlotOrder slot_order(Coordination mode) {
  switch (mode) {
    case Coordination::kDeadline:
      return SlotOrder::kDeadline;
    case Coordination::kPriority:
    case Coordination::kSkewed:  // is never chosen for a run
      return SlotOrder::kFixed;
    case Coordination::kRotating:
      return SlotOrder::kRotating;
    case Coordination::kFair:
    case Coordination::kInterleave:
    case Coordination::kBehind:
      break;
  }
  return SlotOrder::kBehind;
}

}  // namespace

void CoordinationOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "--coordinate", mode,
          "How the ranks of a host share links: off; interleave: each moves other tensors; orchestrate: "
          "their transfers take turns; auto: what is best in simulations of the plan")
      ->check(CLI::IsMember({"auto", "off", "interleave", "orchestrate"}))
      ->capture_default_str();
  command.add_option("--slot-order", order, "Whose turn is next: behind, fixed, rotating, deadline, auto")
      ->check(CLI::IsMember({"auto", "behind", "fixed", "rotating", "deadline"}))
      ->capture_default_str();
  command.add_option("--lease", lease_ms, "Milliseconds after which a turn is over whatever happened")
      ->type_name("MS")
      ->capture_default_str();
  command.add_option("--slot", slot, "What is moved in one turn at most (default: 64MiB)")->type_name("SIZE");
  command
      .add_option(
          "--topology", topology,
          "Which GPUs share a link: lines of PCI address and name (default: what the PCIe tree and tferry "
          "calibrate tell)")
      ->type_name("FILE");
  command
      .add_option("--sync-every", synchronise, "For auto: iterations between synchronisations of the ranks")
      ->type_name("N")
      ->capture_default_str();
}

CoordinationSettings CoordinationOptions::settings(const PlannedRun* planned) const {
  CoordinationSettings settings;
  if (!(lease_ms >= 0.1 && lease_ms <= 60'000))
    throw Failure("--lease: a lease lasts from 0.1 to 60000 ms", "write 20");
  if (synchronise < 1) throw Failure("--sync-every: at least every iteration", "write 1");
  settings.lease_ns = static_cast<std::int64_t>(std::llround(lease_ms * 1e6));
  settings.topology = topology;
  const LinkGroups groups = topology.empty() ? LinkGroups{} : read_link_groups(topology);
  if (!slot.empty()) {
    settings.slot_bytes = parse_bytes(slot, "--slot");
    if (*settings.slot_bytes <= 0) throw Failure("--slot: nothing fits 0 bytes", "write 64MiB");
  }
  using Mode = CoordinationSettings::Mode;
  if (mode == "interleave") settings.mode = Mode::kInterleave;
  if (mode == "orchestrate") settings.mode = Mode::kOrchestrate;
  if (mode == "auto" || (mode == "orchestrate" && order == "auto")) {
    const std::size_t on_a_link = std::max<std::size_t>(largest_group(groups), 2);
    const analyzer::RankLayout layout{on_a_link, on_a_link, static_cast<std::uint64_t>(synchronise)};
    const Coordination best =
        planned != nullptr ? planned->best_coordination(layout) : analyzer::usual_coordination(layout);
    settings.order = slot_order(best);
    if (mode == "auto") {
      settings.chosen = true;
      settings.mode = best == Coordination::kFair ? Mode::kOff : Mode::kOrchestrate;
    }
  }
  if (order != "auto") settings.order = kOrders.at(order);
  return settings;
}

}  // namespace tferry::cli
