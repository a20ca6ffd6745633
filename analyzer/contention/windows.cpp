#include "analyzer/contention/windows.hpp"

#include "analyzer/contention/intervals.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tferry::analyzer {
namespace {

SoloSource weaker(SoloSource a, SoloSource b) {
  if (a == SoloSource::kUnknown || b == SoloSource::kUnknown) return a == SoloSource::kUnknown ? b : a;
  return std::max(a, b);
}

auto key_of(const WindowLoss& loss) {
  return std::tie(loss.victim_process, loss.victim_device, loss.culprit_process, loss.culprit_device,
                  loss.cause, loss.link);
}

void add(ContentionWindow& window, const WindowLoss& loss) {
  window.lost_ns += loss.lost_ns;
  const auto same = std::find_if(window.losses.begin(), window.losses.end(),
                                 [&](const WindowLoss& one) { return key_of(one) == key_of(loss); });
  if (same == window.losses.end()) {
    window.losses.push_back(loss);
  } else {
    same->lost_ns += loss.lost_ns;
    same->known_by = weaker(same->known_by, loss.known_by);
  }
}

}  // namespace

std::vector<ContentionWindow> contention_windows(std::span<const HostTransfer> transfers,
                                                 std::span<const SoloTime> solo, std::span<const Loss> losses,
                                                 std::int64_t pause_ns) {
  std::vector<const Loss*> order;
  for (const Loss& loss : losses) order.push_back(&loss);
  std::stable_sort(order.begin(), order.end(),
                   [](const Loss* a, const Loss* b) { return a->begin_ns < b->begin_ns; });
  std::vector<ContentionWindow> windows;
  for (const Loss* loss : order) {
    if (windows.empty() || loss->begin_ns > windows.back().end_ns + pause_ns) {
      windows.push_back({loss->begin_ns, loss->end_ns, 0, {}});
    }
    ContentionWindow& window = windows.back();
    window.end_ns = std::max(window.end_ns, loss->end_ns);
    const HostTransfer& victim = transfers[loss->victim];
    WindowLoss one{victim.process,           victim.device, {}, {}, loss->cause, loss->link, loss->lost_ns,
                   solo[loss->victim].source};
    if (loss->culprit) {
      one.culprit_process = transfers[*loss->culprit].process;
      one.culprit_device = transfers[*loss->culprit].device;
    }
    add(window, one);
  }
  return windows;
}

std::vector<QueueWait> queue_waits(std::span<const HostTransfer> transfers) {
  std::map<std::pair<std::int64_t, Way>, std::vector<Interval>> engines;
  for (const HostTransfer& transfer : transfers) {
    engines[{transfer.device, transfer.way}].push_back({transfer.start_ns, transfer.end_ns});
  }
  for (auto& [key, intervals] : engines) intervals = united(std::move(intervals));
  std::vector<QueueWait> waits;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const HostTransfer& transfer = transfers[i];
    if (!transfer.ready_ns || *transfer.ready_ns >= transfer.start_ns) continue;
    const std::int64_t waited =
        overlap(engines[{transfer.device, transfer.way}], *transfer.ready_ns, transfer.start_ns);
    if (waited > 0) waits.push_back({i, *transfer.ready_ns, transfer.start_ns, static_cast<double>(waited)});
  }
  return waits;
}

}  // namespace tferry::analyzer
