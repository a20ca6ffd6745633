#pragma once

#include <QElapsedTimer>
#include <QString>

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace tferry::gui {

/// Thrown where work was given up because nobody wants it any more.
struct WorkCancelled : std::runtime_error {
  WorkCancelled() : std::runtime_error("cancelled") {}
};

/// What a worker is at, how far it is, and whether it is still wanted. One side works and tells, the other
/// looks and may cancel. Threads: any.
class Progress {
 public:
  struct State {
    QString what;
    int percent = 0;    ///< 0 to 99
    qint64 lasted = 0;  ///< ms
  };

  /// A piece of work, for as long as this lives. Nested ones belong to the outermost.
  class Work {
   public:
    Work(Progress& progress, const QString& what) : progress_(progress), begun_(progress.begin(what)) {}
    ~Work() {
      if (begun_) progress_.end();
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Progress& progress_;
    bool begun_;
  };

  /// The share that is done, from 0 to 1; never goes back. Throws WorkCancelled.
  void at(double share) {
    raise(share);
    if (is_cancelled()) throw WorkCancelled();
  }
  /// The same without the exception.
  void raise(double share) noexcept {
    const int percent = share >= 1 ? 99 : share > 0 ? static_cast<int>(share * 100) : 0;
    int now = percent_.load(std::memory_order_relaxed);
    while (percent > now && !percent_.compare_exchange_weak(now, percent, std::memory_order_relaxed)) {
    }
  }
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

  /// Nothing while no work is under way.
  std::optional<State> state() const {
    const std::lock_guard lock(mutex_);
    if (what_.isEmpty()) return std::nullopt;
    return State{what_, percent_.load(std::memory_order_relaxed), clock_.elapsed()};
  }

 private:
  bool begin(const QString& what) {
    const std::lock_guard lock(mutex_);
    if (!what_.isEmpty()) return false;
    what_ = what;
    percent_.store(0, std::memory_order_relaxed);
    cancelled_.store(false, std::memory_order_relaxed);
    clock_.start();
    return true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    what_.clear();
  }

  mutable std::mutex mutex_;
  QString what_;
  QElapsedTimer clock_;
  std::atomic<int> percent_ = 0;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace tferry::gui
