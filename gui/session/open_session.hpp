#pragma once

#include "gui/session/overview.hpp"
#include "gui/session/progress.hpp"
#include "gui/session/slice_reader.hpp"
#include "trace/session.hpp"

#include <memory>
#include <string>

namespace tferry::gui {

/// A session opened for looking at: the file, its names, its lanes and their reader. Threads: one at a time.
struct OpenSession {
  trace::Session session;
  std::shared_ptr<const NameBook> names;
  OverviewPtr overview;
  std::unique_ptr<SliceReader> reader;

  /// Throws trace::SessionError; where `progress` was cancelled also soon after, or WorkCancelled.
  static std::unique_ptr<OpenSession> open(const std::string& path, Progress* progress = nullptr);
  /// Once more, for another thread, with an overview that is known already.
  static std::unique_ptr<OpenSession> open_like(const std::string& path, OverviewPtr overview);
};

}  // namespace tferry::gui
