#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>

#include <utility>

namespace tferry::gui {

/// Tells when a session's file was written anew, or is there at last. A session is published by renaming a
/// whole file to its name: the watch on the file ends then, that on its folder tells of it, also where the
/// job still runs and there is no session yet.
class FileFollower : public QObject {
  Q_OBJECT

 public:
  explicit FileFollower(QObject* parent = nullptr);

  /// From now on this one, as it is.
  void watch(const QString& path);

 Q_SIGNALS:
  void written(const QString& path);

 private:
  void look();

  QString path_;
  QFileSystemWatcher watcher_;
  QTimer timer_;
  std::pair<QDateTime, qint64> seen_;  ///< when the file was written, and its size
};

}  // namespace tferry::gui
