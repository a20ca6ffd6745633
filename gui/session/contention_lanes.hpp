#pragma once

#include "gui/session/lane.hpp"
#include "trace/session.hpp"

#include <QString>

#include <cstdint>
#include <string>

namespace tferry::gui {

/// What the timeline shows of table `contention`: a lane for each link that transfers lost time on, and one
/// for each other resource (a lane's key is the link, 0 where there is none, its owner the resource, 0 for a
/// link). An event of such a lane is a window, that is all rows with the same start and end: its id is the
/// smallest of theirs, its bytes are the ns lost in it by all sides together, and its share busy is that time
/// over the window's length, at most 1.

/// SQL of a row's lane: process, device, key, owner.
extern const char* const kContentionLane;
/// SQL that leaves out time lost before a transfer began, which is no contention between transfers.
extern const char* const kLostWhileRunning;

/// "Contention, GPU 0–3" by what is behind the link, "Contention, host memory"; with the hint.
void title_contention(trace::Session& session, Lane& lane);
/// A resource of table `contention` in words.
QString resource_words(const std::string& resource);

}  // namespace tferry::gui
