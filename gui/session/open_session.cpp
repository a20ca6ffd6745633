#include "gui/session/open_session.hpp"

#include <utility>

namespace tferry::gui {

std::unique_ptr<OpenSession> OpenSession::open(const std::string& path) {
  auto open =
      std::make_unique<OpenSession>(OpenSession{trace::Session::open(path), nullptr, nullptr, nullptr});
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
