#include "gui/session/open_session.hpp"

#include <sqlite3.h>

#include <utility>

namespace tferry::gui {
namespace {

constexpr int kSteps = 20'000;  // of SQLite's machine between two looks: less than a millisecond

/// Has SQLite look now and then whether its query is still wanted.
class Interruptible {
 public:
  Interruptible(trace::Session& session, const std::atomic<bool>* cancelled)
      : handle_(session.database().handle()) {
    if (cancelled)
      sqlite3_progress_handler(
          handle_, kSteps,
          [](void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0; },
          const_cast<std::atomic<bool>*>(cancelled));
  }
  ~Interruptible() { sqlite3_progress_handler(handle_, 0, nullptr, nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  sqlite3* handle_;
};

}  // namespace

std::unique_ptr<OpenSession> OpenSession::open(const std::string& path, const std::atomic<bool>* cancelled) {
  auto open =
      std::make_unique<OpenSession>(OpenSession{trace::Session::open(path), nullptr, nullptr, nullptr});
  const Interruptible interruptible(open->session, cancelled);
  open->names = std::make_shared<const NameBook>(open->session);
  open->overview = std::make_shared<const Overview>(make_overview(open->session, *open->names));
  open->reader = std::make_unique<SliceReader>(open->session, open->overview);
  return open;
}

std::unique_ptr<OpenSession> OpenSession::open_like(const std::string& path, OverviewPtr overview) {
  auto open = std::make_unique<OpenSession>(
      OpenSession{trace::Session::open(path), nullptr, std::move(overview), nullptr});
  open->names = std::make_shared<const NameBook>(open->session);
  open->reader = std::make_unique<SliceReader>(open->session, open->overview);
  return open;
}

}  // namespace tferry::gui
