#include "cli/session/page_accesses.hpp"

#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tferry::cli {
namespace {

using trace::AccessKind;
using trace::UmEventKind;
using DeviceKey = std::pair<std::int64_t, std::int64_t>;  // process, device

constexpr std::int64_t kExtent = std::int64_t{2} << 20;
// CUpti_ActivityUnifiedMemoryAccessType.
constexpr std::int64_t kRead = 1, kWrite = 2, kAtomic = 3;
constexpr unsigned kFirstRead = 1, kFirstWrite = 2;

enum Event { kAllocation, kWindow, kTouch, kFree };

// All in one order. While memory is brought to the host nothing comes to the device, so that a launch's time
// may begin where that begins: clocks need not agree to the microsecond.
constexpr const char* kEvents =
    "SELECT alloc_ns AS at, 0 AS event, process_id, device_id, id, address, max(bytes, reserved_bytes), "
    "bytes, movable FROM allocation WHERE address > 0 AND bytes > 0 "
    "UNION ALL SELECT gate.start_ns, 1, gate.process_id, gate.device_id, gate.operation, "
    "kernel.return_ns, 0, 0, 0 FROM gate JOIN kernel USING (process_id, operation) "
    "WHERE gate.on_gpu = 0 AND kernel.return_ns >= gate.end_ns "
    "UNION ALL SELECT start_ns, 2, process_id, CASE kind WHEN 1 THEN source_device_id ELSE "
    "destination_device_id END, kind, address, CASE kind WHEN 1 THEN 1 ELSE bytes END, cause, 0 FROM "
    "um_event "
    "WHERE kind IN (1, 3) AND start_ns > 0 AND address > 0 AND (end_ns IS NULL OR end_ns >= start_ns) "
    "UNION ALL SELECT free_ns, 3, process_id, device_id, id, address, 0, 0, 0 FROM allocation "
    "WHERE free_ns IS NOT NULL ORDER BY at, event";

struct Live {
  std::int64_t id = 0;
  std::int64_t reserved = 0;
  std::int64_t bytes = 0;
  bool alone = false;  ///< on its pages
};

struct Touched {
  std::int64_t from = 0, to = 0;  ///< bytes into the allocation, whole extents
  std::int64_t bytes = 0;         ///< of the allocation
  unsigned first = 0;             ///< kFirstRead, kFirstWrite
};

/// A launch that is being watched.
struct Window {
  std::int64_t operation = 0;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::min();
  std::map<std::int64_t, Touched> touched;  ///< by allocation
};

AccessKind kind_of(unsigned first) {
  switch (first) {
    case kFirstRead:
      return AccessKind::kRead;
    case kFirstWrite:
      return AccessKind::kWrite;
    case kFirstRead | kFirstWrite:
      return AccessKind::kReadWrite;
    default:
      return AccessKind::kMayTouch;
  }
}

unsigned first_of(std::int64_t cause) {
  return cause == kRead     ? kFirstRead
         : cause == kWrite  ? kFirstWrite
         : cause == kAtomic ? kFirstRead | kFirstWrite
                            : 0;
}

class Finder {
 public:
  explicit Finder(trace::SessionWriter& writer)
      : writer_(writer),
        named_(writer.database(),
               "UPDATE access SET kind = ?, known_by = 6, \"offset\" = ?, bytes = ? WHERE process_id = ? AND "
               "operation = ? AND allocation_id = ?") {}

  PageAccesses run() {
    {
      trace::Statement event(writer_.database(), kEvents);
      while (event.step()) take(event);
    }
    for (auto& [device, window] : windows_) finish(device, window);
    return found_;
  }

 private:
  void take(const trace::Statement& event) {
    const std::int64_t process = event.integer(2);
    const DeviceKey device{process, event.integer(3)};
    switch (static_cast<Event>(event.integer(1))) {
      case kAllocation:
        live_[process][event.integer(5)] = {event.integer(4), event.integer(6), event.integer(7),
                                            event.integer(8) != 0};
        break;
      case kFree: {
        auto& live = live_[process];
        const auto at = live.find(event.integer(5));
        if (at != live.end() && at->second.id == event.integer(4)) live.erase(at);
        break;
      }
      case kWindow: {
        Window& window = windows_[device];
        finish(device, window);
        window = {event.integer(4), event.integer(5), {}};
        ++found_.launches;
        break;
      }
      case kTouch: {
        const auto window = windows_.find(device);
        if (window == windows_.end() || event.integer(0) > window->second.until_ns) {
          ++found_.outside;
          break;
        }
        ++found_.events;
        const bool fault = event.integer(4) == static_cast<std::int64_t>(UmEventKind::kGpuFault);
        touch(window->second, process, event.integer(5), event.integer(6),
              fault ? first_of(event.integer(7)) : 0);
        break;
      }
    }
  }

  void touch(Window& window, std::int64_t process, std::int64_t address, std::int64_t bytes, unsigned first) {
    if (bytes <= 0 || bytes > std::numeric_limits<std::int64_t>::max() - address) return;
    const auto& live = live_[process];
    auto at = live.upper_bound(address);
    if (at != live.begin()) --at;
    bool nobodys = false;
    for (; at != live.end() && at->first < address + bytes; ++at) {
      const auto& [begin, allocation] = *at;
      if (begin + allocation.reserved <= address) continue;
      if (!allocation.alone) {
        nobodys = true;
        continue;
      }
      const std::int64_t from = std::max<std::int64_t>(address - begin, 0) / kExtent * kExtent;
      const std::int64_t end = std::min(address + bytes - begin, allocation.reserved);
      const std::int64_t to = (end + kExtent - 1) / kExtent * kExtent;
      const auto [entry, is_new] =
          window.touched.try_emplace(allocation.id, Touched{from, to, allocation.bytes, first});
      if (is_new) continue;
      entry->second.from = std::min(entry->second.from, from);
      entry->second.to = std::max(entry->second.to, to);
      entry->second.first |= first;
    }
    if (nobodys) ++found_.shared;
  }

  void finish(DeviceKey device, Window& window) {
    for (const auto& [allocation, touched] : window.touched) {
      const AccessKind kind = kind_of(touched.first);
      const std::int64_t offset = std::min(touched.from, std::max<std::int64_t>(touched.bytes - 1, 0));
      const std::int64_t bytes = std::min(touched.to, touched.bytes) - offset;
      ++found_.touched;
      if (touched.first == 0) ++found_.undirected;
      int parameter = 0;
      for (const std::int64_t value :
           {static_cast<std::int64_t>(kind), offset, bytes, device.first, window.operation, allocation})
        named_.bind_integer(++parameter, value);
      named_.run();
      if (writer_.database().changes() > 0) continue;
      ++found_.hidden;
      writer_.insert(trace::AccessRow{.process_id = device.first,
                                      .operation = window.operation,
                                      .allocation_id = allocation,
                                      .offset = offset,
                                      .bytes = bytes,
                                      .kind = kind,
                                      .known_by = trace::KnownBy::kPages});
    }
    window.touched.clear();
  }

  trace::SessionWriter& writer_;
  trace::Statement named_;
  PageAccesses found_;
  std::map<std::int64_t, std::map<std::int64_t, Live>> live_;  ///< by process and address
  std::map<DeviceKey, Window> windows_;
};

}  // namespace

std::string PageAccesses::text() const {
  return fmt::format(
      "access pages: {} launches were watched: they touched {} of the allocations that their arguments name, "
      "{} others by pointers in device memory, and {} of those named not at all",
      launches, touched - hidden, hidden, untouched);
}

PageAccesses find_page_accesses(trace::SessionWriter& writer) {
  if (writer.database().integer("SELECT EXISTS (SELECT 1 FROM gate WHERE on_gpu = 0)") == 0) return {};
  writer.execute("CREATE INDEX page_accesses ON access(process_id, operation)");
  PageAccesses found = Finder(writer).run();
  found.untouched = writer.database().integer(
      "SELECT count(*) FROM gate CROSS JOIN access USING (process_id, operation) JOIN allocation ON "
      "allocation.id = allocation_id WHERE on_gpu = 0 AND known_by = 1 AND movable = 1");
  writer.execute("DROP INDEX page_accesses");
  return found;
}

}  // namespace tferry::cli
