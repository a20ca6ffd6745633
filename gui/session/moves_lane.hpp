#pragma once

#include "gui/session/lane.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>

namespace tferry::gui {

/// Movements are two rows of their lane: what leaves the GPU, and what comes.
inline constexpr int kMoveRows = 2;

/// What the runtime moved, in order of start. A fetch that an operation waited for is late by the time from
/// when the operation stood ready (table `gate`) until its bytes were there: the operation on whose behalf it
/// was, or one that waited meanwhile and touches the same allocation. Throws trace::SessionError.
void read_moves(
    trace::Session& session, TimeRange submitted,
    const std::function<void(std::int64_t process_id, std::int64_t device_id, const Item& item)>& add);

/// Of one movement (table `swap`): by how much it was late, 0 if it was not.
std::int64_t late_ns(trace::Session& session, std::int64_t swap_id);

}  // namespace tferry::gui
