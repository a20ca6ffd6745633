#include "gui/window/spool_follower.hpp"

#include <QDirIterator>
#include <QFileInfo>

#include <algorithm>

namespace tferry::gui {
namespace {

constexpr int kLookMs = 1000;
constexpr qint64 kRest = 5;               // times as long as the merge took
constexpr qint64 kMergedEachMs = 20'000;  // bytes of a first merge, about

/// Of all spools below a folder, or of one.
qint64 spooled_bytes(const QString& path) {
  const QFileInfo info(path);
  if (!info.isDir()) return info.size();
  qint64 bytes = 0;
  QDirIterator files(path, {QStringLiteral("spool.*"), QStringLiteral("*.spool")}, QDir::Files,
                     QDirIterator::Subdirectories);
  while (files.hasNext()) {
    files.next();
    bytes += files.fileInfo().size();
  }
  return bytes;
}

}  // namespace

SpoolFollower::SpoolFollower(QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &SpoolFollower::look);
  connect(&process_, &QProcess::finished, this, &SpoolFollower::finished);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    stop();
    Q_EMIT failed(QStringLiteral("cannot start %1, which makes sessions of spools").arg(program_));
  });
}

SpoolFollower::~SpoolFollower() { stop(); }

bool SpoolFollower::is_recording(const QString& path) {
  const QFileInfo info(path);
  return info.isDir() || (info.isFile() && (info.suffix() == QLatin1String("spool") ||
                                            info.fileName().startsWith(QLatin1String("spool."))));
}

void SpoolFollower::follow(const QString& path, const QString& program) {
  stop();
  path_ = path;
  program_ = program;
  session_ = folder_.filePath(QStringLiteral("following.tferry"));
  bytes_ = -1;
  has_made_ = false;
  look();
}

Progress& SpoolFollower::progress() {
  if (work_ && progress_.is_cancelled()) {
    stop();
    Q_EMIT failed(QStringLiteral("following it was given up"));
  } else if (work_) {
    progress_.raise(static_cast<double>(clock_.elapsed()) /
                    static_cast<double>(std::max<qint64>(1, expected_ms_)));
  }
  return progress_;
}

void SpoolFollower::stop() {
  path_.clear();
  work_.reset();
  timer_.stop();
  if (process_.state() == QProcess::NotRunning) return;
  const QSignalBlocker quiet(&process_);
  process_.kill();
  process_.waitForFinished(1000);
}

void SpoolFollower::look() {
  const qint64 bytes = spooled_bytes(path_);
  if (bytes == bytes_) return timer_.start(kLookMs);
  if (!has_made_) expected_ms_ = bytes / kMergedEachMs;
  bytes_ = bytes;
  clock_.start();
  work_.emplace(progress_, QStringLiteral("Merging spools"));
  process_.start(program_, {QStringLiteral("merge"), path_, QStringLiteral("-o"), session_,
                            QStringLiteral("--force"), QStringLiteral("-q")});
}

void SpoolFollower::finished() {
  work_.reset();
  if (!is_active()) return;
  expected_ms_ = clock_.elapsed();
  timer_.start(static_cast<int>(std::clamp<qint64>(clock_.elapsed() * kRest, kLookMs, 600'000)));
  const bool good = process_.exitStatus() == QProcess::NormalExit && process_.exitCode() == 0;
  has_made_ = has_made_ || good;
  if (good) {
    Q_EMIT made(session_);
  } else if (!has_made_) {
    Q_EMIT failed(QString::fromUtf8(process_.readAllStandardError()).trimmed());
  }
}

}  // namespace tferry::gui
