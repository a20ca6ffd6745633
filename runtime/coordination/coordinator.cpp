#include "runtime/coordination/coordinator.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::int64_t kBusyPause = 5'000;      ///< between looks while transfers are queued, ns
constexpr std::int64_t kIdlePause = 1'000'000;  ///< while there are others, and nothing is queued
constexpr std::int64_t kLonePause = 5'000'000;  ///< while there are no others
constexpr std::size_t kLongestFile = 1 << 20;
constexpr std::uint64_t kWatched =
    5;  ///< first iterations under a plan, some of which are watched and not timed

void pause(std::int64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  ::nanosleep(&time, nullptr);
}

/// Domain as a number, then bus, device and function in lower case; empty: no address.
std::string plain_address(const std::string& text) {
  const std::size_t rest = text.find(':');
  if (rest == std::string::npos) return {};
  char* end = nullptr;
  const unsigned long domain = std::strtoul(text.c_str(), &end, 16);
  if (end != text.c_str() + rest) return {};
  std::string plain = std::to_string(domain) + text.substr(rest);
  std::transform(plain.begin(), plain.end(), plain.begin(), [](unsigned char c) { return std::tolower(c); });
  return plain;
}

std::string file_text(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::string Coordinator::link_name(const std::string& pci_address, const std::string& links_text) {
  const std::string own = plain_address(pci_address);
  std::istringstream lines(links_text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string address, name;
    if (words >> address >> name && !own.empty() && plain_address(address) == own) return name;
  }
  return own.empty() ? pci_address : own;
}

Coordinator::Coordinator(const cuda::Driver& driver, std::unique_ptr<trace::SlotSegment> segment,
                         Settings settings, StatusPage& status)
    : driver_(driver),
      settings_(std::move(settings)),
      status_(status),
      segment_(std::move(segment)),
      table_(*segment_),
      log_(settings_.log.empty() ? nullptr : trace::SlotLogWriter::create(settings_.log)) {}

Coordinator* Coordinator::open(const cuda::Driver& driver, const Settings& settings, StatusPage& status) {
  std::string error;
  auto segment = trace::SlotSegment::open(settings.segment, error);
  if (segment == nullptr) {
    status.say(1, "transfers take no turns with those of other ranks: %s", error.c_str());
    return nullptr;
  }
  // Never destroyed: the agent runs until the process is gone.
  auto* coordinator = new Coordinator(driver, std::move(segment), settings, status);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
  try {
    std::thread([coordinator] { coordinator->run(); }).detach();
  } catch (const std::system_error& failure) {
    status.say(1, "transfers take no turns with those of other ranks: no thread: %s", failure.what());
    coordinator = nullptr;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return coordinator;
}

std::unique_ptr<LinkGates> Coordinator::attach(int ordinal, CUdevice device) {
  if (driver_.cuStreamWriteValue32_v2 == nullptr || driver_.cuStreamWaitValue32_v2 == nullptr ||
      driver_.cuDeviceGetPCIBusId == nullptr)
    return nullptr;
  char address[64] = {};
  if (driver_.cuDeviceGetPCIBusId(address, sizeof address, device) != CUDA_SUCCESS) return nullptr;
  // Shared, so that a fork does not part what we see from what the GPU writes. Kept for good: the agent looks
  // at it to the end.
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  CUdeviceptr at = 0;
  if (driver_.cuMemHostRegister_v2(page, kPage, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) !=
          CUDA_SUCCESS ||
      driver_.cuMemHostGetDevicePointer_v2(&at, page, 0) != CUDA_SUCCESS) {
    status_.say(1, "GPU %d: transfers take no turns with those of other ranks: no page for it can be pinned",
                ordinal);
    return nullptr;
  }
  const std::string link = link_name(address, file_text(settings_.links));
  const std::int64_t now = StatusPage::now_ns();
  const auto rank = settings_.rank >= 0 ? static_cast<std::uint32_t>(settings_.rank)
                                        : static_cast<std::uint32_t>(segment_->layout().joined.load());
  auto port = std::make_unique<Port>();
  const auto self = table_.join(trace::slot_link_number(link), rank, now);
  if (!self) {
    status_.say(1, "GPU %d: transfers take no turns with those of other ranks: too many of them", ordinal);
    return nullptr;
  }
  port->ordinal = ordinal;
  port->self = *self;
  port->agreement = std::make_unique<PlanAgreement>(*segment_);
  auto* words = new (page) SlotGate::Words[trace::kSlotDirections]{};
  for (std::size_t way = 0; way < trace::kSlotDirections; ++way) {
    port->gates[way] = std::make_unique<SlotGate>(driver_, words[way], at + way * sizeof(SlotGate::Words));
    trace::SlotEntry whose;
    whose.link = trace::slot_link_number(link);
    whose.rank = settings_.rank;
    whose.device = static_cast<std::int16_t>(ordinal);
    whose.direction = static_cast<std::uint8_t>(way);
    port->turns[way] = std::make_unique<SlotTurns>(*port->gates[way], table_, static_cast<LinkDirection>(way),
                                                   log_.get(), whose);
  }
  auto gates = std::make_unique<LinkGates>(LinkGates{*port->gates[0], *port->gates[1]});
  status_.device(ordinal).slot_rank = settings_.rank + 1;
  status_.say(2, "GPU %d: takes turns on link %s", ordinal, link.c_str());
  const std::lock_guard lock(mutex_);
  ports_.push_back(std::move(port));
  return gates;
}

void Coordinator::detach(int ordinal) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ports_, [&](const std::unique_ptr<Port>& port) {
    if (port->ordinal != ordinal) return false;
    go_alone(*port, StatusPage::now_ns(), nullptr);
    write_figures(*port);
    return true;
  });
}

Coordinator::Port* Coordinator::port_of(int ordinal) {
  for (const auto& port : ports_) {
    if (port->ordinal == ordinal && !port->alone) return port.get();
  }
  return nullptr;
}

void Coordinator::round_ended(int ordinal) {
  const std::lock_guard lock(mutex_);
  Port* port = port_of(ordinal);
  if (port == nullptr) return;
  // Ranks may find the first iteration at different times; from there on they count alike.
  port->rounds = port->rounds == 0
                     ? std::max<std::uint64_t>(1, table_.latest_round(port->self, StatusPage::now_ns()))
                     : port->rounds + 1;
  table_.set_round(port->self, port->rounds);
  for (const auto& gate : port->gates) gate->set_round(port->rounds);
  open_gates(*port);
}

std::uint64_t Coordinator::round(int ordinal) {
  const std::lock_guard lock(mutex_);
  const Port* port = port_of(ordinal);
  return port != nullptr ? port->rounds.load() : 0;
}

void Coordinator::iteration_took(int ordinal, std::uint64_t round, std::int64_t ns) {
  const std::lock_guard lock(mutex_);
  Port* port = port_of(ordinal);
  if (port == nullptr || !settings_.trial || port->tried) return;
  port->trial.took(round, ns);
  if (const auto times = port->trial.times()) table_.set_times(port->self, times->with_ns, times->without_ns);
}

bool Coordinator::may_change_plan(int ordinal) {
  const std::lock_guard lock(mutex_);
  Port* port = port_of(ordinal);
  if (port == nullptr) return true;
  if (!port->agreement->may_change(port->self, port->rounds, StatusPage::now_ns())) return false;
  if (settings_.trial && port->members > 1) port->trial.begin(port->rounds + kWatched);
  return true;
}

/// Transfers are gated while there is somebody to take turns with, and turns pay or are to be timed.
void Coordinator::open_gates(Port& port) {
  const bool turns = port.tried ? port.turns_pay : port.trial.turns_in(port.rounds);
  for (const auto& gate : port.gates) gate->set_active(port.members > 1 && turns);
}

/// Once all ranks' times are known, they come to the same verdict, each by itself.
void Coordinator::judge_turns(Port& port, std::int64_t now_ns) {
  if (!settings_.trial || port.tried || !port.trial.times()) return;
  const auto known = table_.times(port.self.link, now_ns);
  if (!known) return;
  std::vector<TurnsTrial::Times> times;
  TurnsTrial::Times slowest;
  for (const auto& [with, without] : *known) {
    times.push_back({with, without});
    slowest = {std::max(slowest.with_ns, with), std::max(slowest.without_ns, without)};
  }
  port.tried = true;
  port.turns_pay = TurnsTrial::turns_pay(times);
  const double with = static_cast<double>(slowest.with_ns) * 1e-6;
  const double without = static_cast<double>(slowest.without_ns) * 1e-6;
  status_.say(
      port.turns_pay ? 2 : 1,
      "GPU %d: an iteration takes %.1f ms with turns and %.1f ms without: from here on its transfers %s",
      port.ordinal, with, without, port.turns_pay ? "take turns" : "take none");
}

void Coordinator::leave() {
  const std::lock_guard lock(mutex_);
  for (const auto& port : ports_) {
    go_alone(*port, StatusPage::now_ns(), nullptr);
    write_figures(*port);
  }
  if (log_) log_->flush();
}

void Coordinator::go_alone(Port& port, std::int64_t now_ns, const char* why) {
  if (std::exchange(port.alone, true)) return;
  for (const auto& gate : port.gates) gate->set_active(false);
  for (const auto& turns : port.turns) turns->go_alone(port.self, now_ns);
  table_.leave(port.self);
  if (why != nullptr) {
    status_.say(1, "GPU %d: %s; from here on its transfers take no turns with those of other ranks",
                port.ordinal, why);
  }
}

bool Coordinator::look(Port& port, std::int64_t now_ns) {
  bool queued = false;
  if (!port.alone) {
    if (port.gates[0]->broken() || port.gates[1]->broken()) {
      go_alone(port, now_ns, "the driver refuses to wait for a word of memory");
    } else if (port.turns[0]->stuck() || port.turns[1]->stuck()) {
      go_alone(port, now_ns, "a transfer was never granted its turn");
    } else if (!table_.keep_alive(port.self, now_ns)) {
      go_alone(port, now_ns, "this process stood still so long that it was taken for gone");
    }
  }
  if (!port.alone && now_ns - port.counted_ns > kIdlePause) {
    port.counted_ns = now_ns;
    port.members = table_.members_on(port.self.link, now_ns);
    judge_turns(port, now_ns);
    open_gates(port);
    raise_to(status_.device(port.ordinal).slot_members, static_cast<std::int64_t>(port.members));
  }
  for (const auto& turns : port.turns) queued |= turns->look(port.self, now_ns);
  write_figures(port);
  return queued;
}

void Coordinator::write_figures(const Port& port) {
  SlotFigures sum;
  for (const auto& turns : port.turns) {
    const SlotFigures& figures = turns->figures();
    sum.asked += figures.asked;
    sum.granted += figures.granted;
    sum.used += figures.used;
    sum.ahead += figures.ahead;
    sum.expired += figures.expired;
    sum.wait_ns += figures.wait_ns;
  }
  trace::DeviceStatus& counters = status_.device(port.ordinal);
  counters.slots_asked.store(sum.asked, std::memory_order_relaxed);
  counters.slots_granted.store(sum.granted, std::memory_order_relaxed);
  counters.slots_used.store(sum.used, std::memory_order_relaxed);
  counters.slots_ahead.store(sum.ahead, std::memory_order_relaxed);
  counters.slots_expired.store(sum.expired, std::memory_order_relaxed);
  counters.slot_wait_ns.store(sum.wait_ns, std::memory_order_relaxed);
}

void Coordinator::run() {
  ::prctl(PR_SET_NAME, "tferry-slots");
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // short pauses are to be short
  const std::int64_t longest = segment_->lease_ns() / 4;
  for (;;) {
    bool queued = false, others = false;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& port : ports_) {
        queued |= look(*port, StatusPage::now_ns());
        others |= port->members > 1 && !port->alone;
      }
      if (log_ && !queued) log_->flush();
    }
    pause(std::min(queued ? kBusyPause : others ? kIdlePause : kLonePause, longest));
  }
}

}  // namespace tferry::runtime
