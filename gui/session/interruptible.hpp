#pragma once

#include "gui/session/progress.hpp"
#include "trace/session.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>

namespace tferry::gui {

/// Has SQLite look now and then, for as long as this lives, whether its query is still wanted: it fails soon
/// after a cancellation. How far a query is SQLite does not say; with `expected_steps` of its machine the
/// share is that of those steps, and comes ever nearer to the end without reaching it where they are more.
class Interruptible {
 public:
  Interruptible(trace::Session& session, Progress& progress, double expected_steps = 0)
      : handle_(session.database().handle()), progress_(progress), expected_(expected_steps) {
    sqlite3_progress_handler(
        handle_, kSteps, [](void* self) { return static_cast<Interruptible*>(self)->look(); }, this);
  }
  ~Interruptible() { sqlite3_progress_handler(handle_, 0, nullptr, nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  static constexpr int kSteps = 20'000;  // between two looks: less than a millisecond

  int look() {
    steps_ += kSteps;
    if (expected_ > 0) progress_.raise(1 - std::exp(-2 * steps_ / expected_));
    return progress_.is_cancelled() ? 1 : 0;
  }

  sqlite3* handle_;
  Progress& progress_;
  double expected_;
  double steps_ = 0;
};

}  // namespace tferry::gui
