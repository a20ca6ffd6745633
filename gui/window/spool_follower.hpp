#pragma once

#include "gui/session/progress.hpp"

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>

#include <optional>

namespace tferry::gui {

/// Follows a recording that is still being written: a spool, or a folder of them (tferry profile
/// --keep-spools, or where a job's lie while it runs). Has tferry merge make a session of what is there, in a
/// folder of its own that is gone with it, and again when there is more; at most a sixth of the time is spent
/// on that. The spools are only read.
class SpoolFollower : public QObject {
  Q_OBJECT

 public:
  explicit SpoolFollower(QObject* parent = nullptr);
  ~SpoolFollower() override;

  /// A folder, or a file spool.PID.SOURCE.N or *.spool.
  static bool is_recording(const QString& path);
  /// `program`: tferry.
  void follow(const QString& path, const QString& program);
  void stop();
  bool is_active() const { return !path_.isEmpty(); }
  const QString& path() const { return path_; }
  /// How far the merge under way is: about, by how long it took last time. A cancelled one ends the
  /// following.
  Progress& progress();

 Q_SIGNALS:
  /// A session of what there is by now; the same name each time.
  void made(const QString& session);
  /// There is none yet, and why.
  void failed(const QString& why);

 private:
  void look();
  void finished();

  QString path_, program_, session_;
  qint64 bytes_ = -1;  ///< of the spools, when they were merged last
  bool has_made_ = false;
  qint64 expected_ms_ = 0;
  Progress progress_;
  std::optional<Progress::Work> work_;
  QTemporaryDir folder_;
  QTimer timer_;
  QElapsedTimer clock_;
  QProcess process_;
};

}  // namespace tferry::gui
