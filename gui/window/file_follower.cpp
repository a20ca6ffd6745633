#include "gui/window/file_follower.hpp"

#include <QFileInfo>
#include <QStringList>

namespace tferry::gui {
namespace {

constexpr int kDelayMs = 300;  // a file is written in several steps

}  // namespace

FileFollower::FileFollower(QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  timer_.setInterval(kDelayMs);
  connect(&timer_, &QTimer::timeout, this, &FileFollower::look);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, &timer_, qOverload<>(&QTimer::start));
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &timer_, qOverload<>(&QTimer::start));
}

void FileFollower::watch(const QString& path) {
  path_ = path;
  const QStringList old = watcher_.files() + watcher_.directories();
  if (!old.isEmpty()) watcher_.removePaths(old);
  const QFileInfo file(path_);
  if (file.exists()) watcher_.addPath(path_);
  if (QFileInfo(file.absolutePath()).isDir()) watcher_.addPath(file.absolutePath());
  seen_ = {file.lastModified(), file.size()};
}

void FileFollower::look() {
  const QFileInfo file(path_);
  const std::pair<QDateTime, qint64> now{file.lastModified(), file.size()};
  if (!file.exists() || now == seen_) return;
  watch(path_);
  Q_EMIT written(path_);
}

}  // namespace tferry::gui
