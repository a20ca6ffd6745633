#include "gui/session/open_session.hpp"

#include "gui/session/interruptible.hpp"

#include <optional>
#include <utility>

namespace tferry::gui {
namespace {

constexpr double kNames = 0.1;  // of the time, about

}  // namespace

std::unique_ptr<OpenSession> OpenSession::open(const std::string& path, Progress* progress) {
  auto open =
      std::make_unique<OpenSession>(OpenSession{trace::Session::open(path), nullptr, nullptr, nullptr});
  std::optional<Interruptible> interruptible;
  if (progress) interruptible.emplace(open->session, *progress);
  const auto step = [progress](double share) {
    if (progress) progress->at(kNames + (1 - kNames) * share);
  };
  open->names = std::make_shared<const NameBook>(open->session);
  open->overview = std::make_shared<const Overview>(make_overview(open->session, *open->names, step));
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
