#include "gui/session/lane_titles.hpp"

#include "gui/session/contention_lanes.hpp"
#include "gui/session/lane_counts.hpp"
#include "gui/time/time_text.hpp"

#include <array>

namespace tferry::gui {
namespace {

constexpr std::array kCopies = {"Copies, kind unknown", "Copies host → GPU",  "Copies GPU → host",
                                "Copies within GPU",    "Copies within host", "Copies GPU → GPU"};

/// Bytes per second of one lane after line coding, by generation from 1 (PCI-SIG base specifications).
constexpr std::array kPcieLane = {0.0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};

std::int64_t gpu_number(trace::Session& session, std::int64_t device_id) {
  return session.integer("SELECT count(*) FROM device WHERE id < " + std::to_string(device_id));
}

void pcie(trace::Session& session, Lane& lane, int direction) {
  lane.owner = direction;
  lane.title = direction == 1 ? QStringLiteral("PCIe to the GPU") : QStringLiteral("PCIe to the host");
  lane.hint = QStringLiteral(
      "Bytes on the wire as the GPU's counter sampled them. The darker part is explained by recorded copies; "
      "the "
      "rest is protocol, reads in place, and whatever else uses the GPU.");
  const auto link = session.first<trace::LinkRow>("WHERE device_id = ? AND kind = 'pcie'", lane.device_id);
  const auto rate = !link            ? std::optional<double>()
                    : direction == 1 ? link->h2d_bytes_per_second
                                     : link->d2h_bytes_per_second;
  if (rate) {
    lane.capacity = *rate;
    lane.hint +=
        QStringLiteral(" Capacity: %1, %2.").arg(rate_text(*rate), QString::fromStdString(link->known_by));
    return;
  }
  const auto device = session.first<trace::DeviceRow>("WHERE id = ?", lane.device_id);
  if (!device || !device->pcie_generation || !device->pcie_width) return;
  const auto generation = static_cast<std::size_t>(*device->pcie_generation);
  if (generation >= kPcieLane.size() || *device->pcie_width < 1 || *device->pcie_width > 32) return;
  lane.capacity = kPcieLane[generation] * static_cast<double>(*device->pcie_width);
  lane.hint += QStringLiteral(" Capacity: %1, that of PCIe %2 x%3, assumed.")
                   .arg(rate_text(lane.capacity))
                   .arg(*device->pcie_generation)
                   .arg(*device->pcie_width);
}

void memory(trace::Session& session, Lane& lane) {
  lane.title = QStringLiteral("Memory");
  lane.hint = QStringLiteral(
      "Bytes that the program has allocated. Pale: dead, that is allocated and never used again; violet: "
      "parked in "
      "host memory.");
  const auto device = session.first<trace::DeviceRow>("WHERE id = ?", lane.device_id);
  if (!device) return;
  lane.capacity = static_cast<double>(device->memory_bytes.value_or(0));
  lane.limit = static_cast<double>(device->budget_bytes.value_or(0));
}

}  // namespace

bool is_traffic(const QString& counter) { return counter.contains(QLatin1String("bytes")); }

int pcie_direction(const QString& counter) {
  if (!counter.contains(QLatin1String("pcie__"))) return 0;
  return counter.contains(QLatin1String("read")) || counter.contains(QLatin1String("rx")) ? 1 : 2;
}

void title(trace::Session& session, const NameBook& names, Lane& lane) {
  switch (lane.kind) {
    case LaneKind::kIterations:
      lane.title = QStringLiteral("Iterations");
      lane.hint = QStringLiteral("Found by tferry analyze; grey ones are irregular.");
      break;
    case LaneKind::kMarkers:
      lane.title = QStringLiteral("NVTX, thread %1").arg(lane.key);
      break;
    case LaneKind::kStream: {
      const auto stream = session.first<trace::StreamRow>("WHERE id = ?", lane.key);
      const bool own = stream ? stream->owner == trace::StreamOwner::kRuntime : lane.owner == 2;
      lane.owner = own ? 2 : 1;
      const QString number = stream && stream->cupti_stream_id ? QString::number(*stream->cupti_stream_id)
                             : lane.key != 0                   ? QString::number(lane.key)
                                                               : QStringLiteral("unknown");
      lane.title = QStringLiteral("Stream %1").arg(number) + (own ? QStringLiteral(" (runtime)") : QString());
      lane.hint = QStringLiteral("Kernels and memsets, coloured by name.");
      break;
    }
    case LaneKind::kCopies: {
      const auto kind = static_cast<std::size_t>(lane.key);
      lane.title = QString::fromUtf8(kind < kCopies.size() ? kCopies[kind] : kCopies[0]);
      if (lane.owner == 2) lane.title += QStringLiteral(" (runtime)");
      break;
    }
    case LaneKind::kMoves:
      lane.title = QStringLiteral("Evictions and fetches");
      lane.hint = QStringLiteral(
          "What the runtime did. Above: parked, dropped; below: fetched. A mark on top, and \"late by\": an "
          "operation waited for it so long.");
      break;
    case LaneKind::kPlan:
      lane.title = QStringLiteral("Plan %1").arg(lane.key);
      lane.hint = QStringLiteral(
          "When the plan wants each eviction (above) and fetch (below) in every regular iteration: in its "
          "order, as soon as the operation before it has ended, at the rate that it was made for. A mark on "
          "top: after the operation that needs it would have begun.");
      break;
    case LaneKind::kGates:
      lane.title = QStringLiteral("Waits for memory");
      lane.hint =
          QStringLiteral("Operations that had to wait until what they need was on the card: late fetches.");
      break;
    case LaneKind::kSyncs:
      lane.title = QStringLiteral("Waits for the GPU");
      lane.hint = QStringLiteral("The program waited for an event, a stream or the whole context.");
      break;
    case LaneKind::kMigrations:
      // Faults of processors are of no GPU.
      lane.title =
          lane.device_id != 0 ? QStringLiteral("Page migrations, faults") : QStringLiteral("CPU page faults");
      lane.hint = QStringLiteral(
          "Managed memory. Above: pages that moved; below: faults, thrashing, mappings. Arrows tie a fault "
          "to "
          "the pages that it moved and to the kernel that stood still.");
      break;
    case LaneKind::kContention:
      title_contention(session, lane);
      break;
    case LaneKind::kCounter: {
      const QString name = names.full(lane.key);
      if (const int direction = pcie_direction(name)) return pcie(session, lane, direction);
      const bool dram = name.contains(QLatin1String("dram"));
      const bool read = name.contains(QLatin1String("read"));
      // CUPTI's and NVML's names of them.
      const bool nvlink_in =
          name.contains(QLatin1String("nvlrx")) || name.contains(QLatin1String("nvlink_rx"));
      const bool nvlink_out =
          name.contains(QLatin1String("nvltx")) || name.contains(QLatin1String("nvlink_tx"));
      lane.title = nvlink_in    ? QStringLiteral("NVLink, received")
                   : nvlink_out ? QStringLiteral("NVLink, sent")
                   : dram
                       ? (read ? QStringLiteral("GPU memory, read") : QStringLiteral("GPU memory, written"))
                       : name;
      lane.hint = name;
      break;
    }
    case LaneKind::kMemory:
      memory(session, lane);
      break;
    case LaneKind::kTensor:
      break;  // has its title already
  }
}

QString group_title(trace::Session& session, std::int64_t process_id, std::int64_t device_id) {
  QString text;
  if (process_id == 0 && device_id == 0) return QStringLiteral("Across GPUs");
  if (const auto device = session.first<trace::DeviceRow>("WHERE id = ?", device_id)) {
    text = QStringLiteral("GPU %1").arg(gpu_number(session, device_id));
    if (device->name) text += QStringLiteral("   ") + QString::fromStdString(*device->name);
    if (device->pci_address) text += QStringLiteral("   ") + QString::fromStdString(*device->pci_address);
  }
  if (const auto process = session.first<trace::ProcessRow>("WHERE id = ?", process_id)) {
    if (!text.isEmpty()) text += QStringLiteral("   ·   ");
    text += QStringLiteral("process %1").arg(process->pid);
    if (process->rank) text += QStringLiteral(", rank %1").arg(*process->rank);
  }
  return text.isEmpty() ? QStringLiteral("Other events") : text;
}

QString headline(trace::Session& session) {
  QStringList parts;
  select(session, "SELECT coalesce(name, 'GPU'), count(*) FROM device GROUP BY 1",
         [&](trace::Statement& row) {
           const QString name = QString::fromStdString(row.shown(0));
           parts << (row.integer(1) == 1 ? name : QStringLiteral("%1 × %2").arg(row.integer(1)).arg(name));
         });
  select(session,
         "SELECT command FROM process WHERE command IS NOT NULL AND id IN (SELECT process_id FROM stream) "
         "LIMIT 1",
         [&](trace::Statement& row) { parts << QString::fromStdString(row.shown(0)).left(120); });
  if (const auto created = session.meta("created")) parts << QString::fromStdString(*created).left(10);
  return parts.join(QStringLiteral("   ·   "));
}

}  // namespace tferry::gui
