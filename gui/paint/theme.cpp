#include "gui/paint/theme.hpp"

#include "gui/session/tensor_lanes.hpp"

namespace tferry::gui {
namespace {

void set_palettes(Theme& theme) {
  theme.to_gpu = QColor(0xE6, 0x9F, 0x00);
  theme.to_host = theme.dark ? QColor(0x56, 0xB4, 0xE9) : QColor(0x00, 0x72, 0xB2);
  theme.within = QColor(0x00, 0x9E, 0x73);
  theme.peer = QColor(0xCC, 0x79, 0xA7);
  theme.other = QColor(0x99, 0x99, 0x99);
  theme.wait = QColor(0xD5, 0x5E, 0x00);
  theme.limit = QColor(0xD5, 0x5E, 0x00);
  theme.kernels = {QColor(0x77, 0xAA, 0xDD), QColor(0x44, 0xBB, 0x99), QColor(0xBB, 0xCC, 0x33),
                   QColor(0xEE, 0xDD, 0x88), QColor(0xFF, 0xAA, 0xBB), QColor(0x99, 0xDD, 0xFF),
                   QColor(0xAA, 0xAA, 0x00)};
  for (std::size_t i = 0; i < theme.kernels.size(); ++i)
    theme.markers[i] = theme.kernels[i].lighter(theme.dark ? 90 : 112);
}

}  // namespace

Theme Theme::light() {
  Theme theme;
  theme.background = QColor(0xFF, 0xFF, 0xFF);
  theme.stripe = QColor(0xF7, 0xF8, 0xFA);
  theme.grid = QColor(0xE7, 0xEA, 0xEE);
  theme.border = QColor(0xD5, 0xDA, 0xE1);
  theme.text = QColor(0x1F, 0x23, 0x28);
  theme.muted = QColor(0x63, 0x6C, 0x76);
  theme.group = QColor(0xEA, 0xEE, 0xF3);
  theme.axis = QColor(0xF3, 0xF5, 0xF8);
  theme.accent = QColor(0x11, 0x11, 0x11);
  theme.warning = QColor(0xFF, 0xF4, 0xD6);
  theme.warning_text = QColor(0x6B, 0x4A, 0x00);
  theme.memory = QColor(0x5B, 0x8D, 0xB8);
  theme.memory_dead = QColor(0xC3, 0xD5, 0xE6);
  theme.memory_parked = QColor(0x8A, 0x6F, 0xB0);
  theme.counter = QColor(0xB8, 0xC4, 0xD0);
  theme.counter_known = QColor(0x6A, 0x7D, 0x90);
  theme.plan = QColor(0x8A, 0x8F, 0x98);
  set_palettes(theme);
  return theme;
}

Theme Theme::dark_one() {
  Theme theme;
  theme.dark = true;
  theme.background = QColor(0x15, 0x18, 0x1D);
  theme.stripe = QColor(0x1A, 0x1E, 0x24);
  theme.grid = QColor(0x2A, 0x2F, 0x37);
  theme.border = QColor(0x38, 0x3F, 0x49);
  theme.text = QColor(0xE6, 0xE9, 0xED);
  theme.muted = QColor(0x9A, 0xA4, 0xB0);
  theme.group = QColor(0x24, 0x2A, 0x33);
  theme.axis = QColor(0x1D, 0x22, 0x29);
  theme.accent = QColor(0xFF, 0xFF, 0xFF);
  theme.warning = QColor(0x3D, 0x33, 0x14);
  theme.warning_text = QColor(0xF2, 0xD9, 0x8B);
  theme.memory = QColor(0x5B, 0x8D, 0xB8);
  theme.memory_dead = QColor(0x34, 0x49, 0x5E);
  theme.memory_parked = QColor(0xA0, 0x86, 0xC8);
  theme.counter = QColor(0x46, 0x52, 0x60);
  theme.counter_known = QColor(0x8F, 0xA3, 0xB8);
  theme.plan = QColor(0x7C, 0x84, 0x90);
  set_palettes(theme);
  return theme;
}

QColor Theme::text_on(const QColor& fill) {
  const double light = 0.299 * fill.red() + 0.587 * fill.green() + 0.114 * fill.blue();
  return light > 140 ? QColor(0x14, 0x16, 0x1A) : QColor(0xFF, 0xFF, 0xFF);
}

QColor Theme::of(const Lane& lane, const Item& item, const NameBook& names) const {
  switch (lane.kind) {
    case LaneKind::kStream:
      if (item.table == EventTable::kMemset) return other;
      return kernels[names.hue(item.name_id) % kernels.size()];
    case LaneKind::kCopies:
      switch (lane.key) {
        case 1:
          return to_gpu;
        case 2:
          return to_host;
        case 3:
          return within;
        case 5:
          return peer;
        default:
          return other;
      }
    case LaneKind::kMoves:
    case LaneKind::kPlan:
      if (item.late() && item.id == 0) return wait;  // too narrow for a mark of its own
      switch (item.tone) {
        case 1:
          return to_host;  // park
        case 2:
          return to_gpu;  // fetch
        case 5:
          return within;  // read in place
        default:
          return other;  // dropped, discarded
      }
    case LaneKind::kIterations:
      return item.tone == 1 ? (item.bytes % 2 == 0 ? group : border) : stripe;
    case LaneKind::kMarkers:
      return markers[names.hue(item.name_id) % markers.size()];
    case LaneKind::kTensor:
      if (item.tone == static_cast<std::uint8_t>(TensorTone::kAlive)) return memory;
      if (item.tone == static_cast<std::uint8_t>(TensorTone::kParked)) return memory_parked;
      return kernels[names.hue(item.name_id) % kernels.size()];
    case LaneKind::kGates:
    case LaneKind::kContention:
      return wait;
    case LaneKind::kMigrations:
      return item.tone == 4 ? to_host : item.tone == 3 ? to_gpu : wait;
    default:
      return plan;
  }
}

}  // namespace tferry::gui
