#include "gui/window/session_link.hpp"

#include <limits>

namespace tferry::gui {

SessionLink::SessionLink(QObject* parent) : QObject(parent), worker_(new SessionWorker) {
  worker_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, worker_, &QObject::deleteLater);
  thread_.start();
}

SessionLink::~SessionLink() {
  worker_->want_only(std::numeric_limits<quint64>::max());
  thread_.quit();
  thread_.wait();
}

}  // namespace tferry::gui
