#pragma once

#include "cuda/driver.hpp"
#include "runtime/coordination/plan_agreement.hpp"
#include "runtime/coordination/slot_gate.hpp"
#include "runtime/coordination/slot_table.hpp"
#include "runtime/coordination/slot_turns.hpp"
#include "runtime/coordination/turns_trial.hpp"
#include "runtime/status_page.hpp"
#include "trace/slot_segment.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tferry::runtime {

/// The gates of one GPU, by LinkDirection.
struct LinkGates {
  SlotGate& in;
  SlotGate& out;
};

/// This process among the ranks of its job: its GPUs' gates, and the agent, a thread that runs them. The
/// agent makes no driver call, takes no lock of the runtime, and lives to the end of the process, so that a
/// transfer that is queued is let through whatever the program does. Where anything is in doubt (the segment
/// cannot be mapped, the driver refuses the gates' calls, an entry was taken) the GPU goes on alone, which is
/// said once.
class Coordinator {
 public:
  struct Settings {
    std::string segment;  ///< path of the job's segment
    std::string links;    ///< file that names the link of each GPU, by PCI address; empty: a link each
    int rank = -1;        ///< place in the order; -1: by joining
    std::string log;      ///< file for every turn (trace/slot_log.hpp); empty: none
    bool trial = false;   ///< whether turns pay is measured, and they end where they do not
  };

  /// Null, having said why, when the ranks cannot be joined.
  static Coordinator* open(const cuda::Driver& driver, const Settings& settings, StatusPage& status);

  /// Gates for a GPU, with its context current. Null: it goes on alone.
  std::unique_ptr<LinkGates> attach(int ordinal, CUdevice device);
  /// The GPU's memory is gone, and with it all queued transfers.
  void detach(int ordinal);
  /// An iteration of a plan ended.
  void round_ended(int ordinal);
  /// Iterations that have ended; 0 where it takes no turns.
  std::uint64_t round(int ordinal);
  /// The iteration before whose end so many had ended took that long on the GPU.
  void iteration_took(int ordinal, std::uint64_t round, std::int64_t ns);
  /// At the end of an iteration, when a new plan is at hand: whether all ranks change plans here.
  bool may_change_plan(int ordinal);
  /// At the end of the process: everything passes, and the others need not wait for a lease.
  void leave();

  /// What the file says about a GPU: lines of PCI address and name, others ignored; the address itself where
  /// it says nothing. Addresses are compared without regard to case and with or without a domain's leading
  /// zeros.
  static std::string link_name(const std::string& pci_address, const std::string& links_text);

 private:
  struct Port {
    int ordinal;
    SlotTable::Identity self;
    std::array<std::unique_ptr<SlotGate>, trace::kSlotDirections> gates;
    std::array<std::unique_ptr<SlotTurns>, trace::kSlotDirections> turns;
    std::atomic<std::uint64_t> rounds{0};
    std::unique_ptr<PlanAgreement> agreement;
    TurnsTrial trial;
    bool turns_pay = true;  ///< as far as known
    bool tried = false;     ///< all ranks' times are known
    std::size_t members = 1;
    std::int64_t counted_ns = 0;  ///< when members were counted
    bool alone = false;
  };

  Coordinator(const cuda::Driver& driver, std::unique_ptr<trace::SlotSegment> segment, Settings settings,
              StatusPage& status);
  void run();
  bool look(Port& port, std::int64_t now_ns);
  void go_alone(Port& port, std::int64_t now_ns, const char* why);
  void write_figures(const Port& port);
  Port* port_of(int ordinal);
  void open_gates(Port& port);
  void judge_turns(Port& port, std::int64_t now_ns);

  const cuda::Driver& driver_;
  const Settings settings_;
  StatusPage& status_;
  std::unique_ptr<trace::SlotSegment> segment_;
  SlotTable table_;
  std::unique_ptr<trace::SlotLogWriter> log_;  ///< null: turns are not recorded
  std::mutex mutex_;                           ///< guards ports_; held for one look at a time
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace tferry::runtime
