#include "gui/window/session_link.hpp"

#include <limits>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tferry::gui {
namespace {

constexpr int kNice = 5;

}  // namespace

SessionLink::SessionLink(QObject* parent) : QObject(parent), worker_(new SessionWorker) {
  worker_->moveToThread(&thread_);
  // Whoever looks is not to wait for what is read: on few cores the window's thread goes first. On Linux a
  // thread has a nice value of its own (setpriority(2)); where it cannot be set, all is as it was.
  connect(&thread_, &QThread::started, worker_,
          [] { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice); });
  connect(&thread_, &QThread::finished, worker_, &QObject::deleteLater);
  thread_.start();
}

SessionLink::~SessionLink() {
  worker_->want_only(std::numeric_limits<quint64>::max());
  thread_.quit();
  thread_.wait();
}

}  // namespace tferry::gui
