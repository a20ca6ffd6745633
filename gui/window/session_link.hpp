#pragma once

#include "gui/window/session_worker.hpp"

#include <QObject>
#include <QThread>

#include <utility>

namespace tferry::gui {

/// A worker and the thread it lives in. Orders are queued in the order in which they are given. The
/// destructor waits for the work in hand, which is bounded by one query.
class SessionLink : public QObject {
  Q_OBJECT

 public:
  explicit SessionLink(QObject* parent = nullptr);
  ~SessionLink() override;
  SessionLink(const SessionLink&) = delete;
  SessionLink& operator=(const SessionLink&) = delete;

  SessionWorker* worker() const { return worker_; }

  template <typename Order>
  void post(Order&& order) {
    QMetaObject::invokeMethod(
        worker_, [worker = worker_, order = std::forward<Order>(order)] { order(*worker); },
        Qt::QueuedConnection);
  }

 private:
  QThread thread_;
  SessionWorker* worker_;
};

}  // namespace tferry::gui
