#pragma once

#include "gui/session/lane.hpp"
#include "gui/session/name_book.hpp"
#include "trace/session.hpp"

#include <QString>

#include <cstdint>

namespace tferry::gui {

/// Gives a lane its title, hint, capacity and limit.
void title(trace::Session& session, const NameBook& names, Lane& lane);
/// "GPU 0  NVIDIA H200  ·  process 692, rank 0"
QString group_title(trace::Session& session, std::int64_t process_id, std::int64_t device_id);
/// What ran where, in one line.
QString headline(trace::Session& session);
/// A counter of bytes, which the timeline draws as a rate.
bool is_traffic(const QString& counter);
/// 1: to the GPU, 2: to the host, 0: no PCIe counter.
int pcie_direction(const QString& counter);

}  // namespace tferry::gui
