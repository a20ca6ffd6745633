#include "gui/window/session_worker.hpp"

#include "cli/failure.hpp"
#include "cli/report/compare_report.hpp"
#include "cli/session/choose_session.hpp"
#include "gui/report/explain_report.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/session/interruptible.hpp"

#include <QFileInfo>

#include <exception>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tferry::gui {
namespace {

constexpr int kNice = 5;
constexpr std::int64_t kMostRows = 2000;  // of a table
// Of SQLite's machine for each event, about: what progress is told by.
constexpr double kSearchSteps = 10, kReportSteps = 25, kCompareSteps = 60;

}  // namespace

/// On Linux a thread has a nice value of its own (setpriority(2)); where it cannot be set, all is as it was.
void SessionWorker::give_way() {
  if (std::exchange(gives_way_, true)) return;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
}

template <typename Work>
void SessionWorker::guarded(Work&& work) {
  try {
    work();
  } catch (const trace::SessionError& error) {
    const cli::Failure failure = cli::session_failure(error);
    Q_EMIT failed(QString::fromUtf8(failure.what()), QString::fromStdString(failure.remedy()));
  } catch (const std::exception& error) {
    Q_EMIT failed(QString::fromUtf8(error.what()),
                  QStringLiteral("this is a defect of Tensorferry; please report it"));
  }
}

void SessionWorker::open(const QString& path) {
  const Progress::Work work(progress_, QStringLiteral("Opening ") + QFileInfo(path).fileName());
  guarded([&] {
    session_.reset();
    const auto given_up = [&] {
      Q_EMIT failed(QStringLiteral("opening %1 was cancelled").arg(path),
                    QStringLiteral("open it again with Ctrl+O"));
    };
    try {
      session_ = OpenSession::open(path.toStdString(), &progress_);
    } catch (const WorkCancelled&) {
      return given_up();
    } catch (const trace::SessionError&) {
      if (!progress_.is_cancelled()) throw;
      return given_up();
    }
    Q_EMIT opened(session_->overview, session_->names);
  });
}

void SessionWorker::open_like(const QString& path, OverviewPtr overview) {
  give_way();
  guarded([&] {
    session_.reset();
    session_ = OpenSession::open_like(path.toStdString(), std::move(overview));
  });
}

void SessionWorker::read_picture(TimeRange range, double ns_per_pixel, const std::set<int>& tensors,
                                 quint64 number) {
  if (!session_) return;
  const auto cancelled = [this, number] { return number < wanted_.load(std::memory_order_relaxed); };
  if (cancelled()) return;
  guarded([&] {
    if (PicturePtr picture = session_->reader->read(range, ns_per_pixel, cancelled, tensors))
      Q_EMIT picture_ready(std::move(picture), number);
  });
  give_way();  // somebody waits for the first picture; later ones are read beside what is looked at
}

void SessionWorker::read_facts(EventRef event, quint64 number) {
  if (!session_) return;
  guarded([&] {
    Q_EMIT facts_ready(event_facts(session_->session, *session_->names, *session_->overview, event), number);
  });
}

void SessionWorker::find_at(int lane, qint64 time, qint64 within_ns, int row) {
  if (!session_) return;
  guarded([&] {
    const EventRef event = session_->reader->event_at(lane, time, within_ns, row);
    if (event.id != 0) Q_EMIT found(found_event(session_->session, *session_->overview, event));
  });
}

void SessionWorker::read_relations(EventRef event) {
  if (!session_) return;
  guarded([&] {
    Q_EMIT relations_ready(event,
                           find_relations(session_->session, *session_->names, *session_->overview, event));
  });
}

void SessionWorker::find_window(qint64 start_ns) {
  if (!session_) return;
  guarded([&] { Q_EMIT found(contention_window(session_->session, *session_->overview, start_ns)); });
}

void SessionWorker::find_worst_window(qint64 victim_gpu, const QString& culprit) {
  if (!session_) return;
  guarded([&] { Q_EMIT found(worst_window(session_->session, *session_->overview, victim_gpu, culprit)); });
}

void SessionWorker::search(const QString& pattern) {
  if (!session_) return;
  guarded([&] { Q_EMIT searched(search_names(*session_->names, pattern)); });
}

void SessionWorker::find_next(std::vector<std::int64_t> names, int lane, qint64 time, int step) {
  if (!session_) return;
  const Progress::Work work(progress_, QStringLiteral("Searching"));
  const Interruptible interruptible(session_->session, progress_, kSearchSteps * events());
  guarded([&] {
    FoundEvent event;
    try {
      event = names.empty() ? next_in_lane(session_->session, *session_->overview, lane, time, step)
                            : next_named(session_->session, *session_->overview, names, lane, time, step);
    } catch (const trace::SessionError&) {
      if (!progress_.is_cancelled()) throw;
    }
    Q_EMIT found(event);
  });
}

double SessionWorker::events() const { return static_cast<double>(session_->overview->events); }

template <typename Make>
void SessionWorker::report(const QString& name, const QString& what, double steps, Make&& make) {
  if (!session_) return;
  const Progress::Work work(progress_, what);
  const Interruptible interruptible(session_->session, progress_, steps * events());
  try {
    Q_EMIT report_ready(name, std::make_shared<const std::vector<cli::Table>>(make()));
  } catch (const std::exception& error) {
    progress_.is_cancelled() ? Q_EMIT report_cancelled(name)
                             : Q_EMIT report_failed(name, QString::fromUtf8(error.what()));
  }
}

void SessionWorker::make_report(const QString& name, TimeRange range, qint64 plan) {
  if (!session_) return;
  const bool curve = name == QLatin1String("curve");  // tells its share itself
  report(name, QStringLiteral("Report ") + name, curve ? 0 : kReportSteps, [&] {
    cli::ScopeOptions options;
    options.top = kMostRows;
    const std::int64_t origin = session_->overview->origin_ns;
    if (range.length() > 0) {
      options.from = std::to_string(std::max<std::int64_t>(0, range.from_ns - origin)) + "ns";
      options.to = std::to_string(std::max<std::int64_t>(1, range.to_ns - origin)) + "ns";
    }
    const cli::Scope scope(session_->session, options);
    if (curve) return report_curve(scope, [this](double share) { progress_.at(share); });
    return plan != 0 && name == QLatin1String("plan") ? cli::report_plan_of(scope, plan)
                                                      : find_panel_report(name.toStdString()).make(scope);
  });
}

void SessionWorker::explain(const QString& tensor, qint64 plan) {
  report(QStringLiteral("why"), QStringLiteral("Why ") + tensor, 0, [&] {
    return explain_tensor_of_plan(cli::Scope(session_->session, {}), tensor.toStdString(), plan,
                                  [this](double share) { progress_.at(share); });
  });
}

void SessionWorker::make_plan(qint64 budget_bytes) {
  report(QStringLiteral("plan"), QStringLiteral("Making a plan"), 0, [&] {
    return plan_for_budget(cli::Scope(session_->session, {}), budget_bytes,
                           [this](double share) { progress_.at(share); });
  });
}

void SessionWorker::compare_with(const QString& path) {
  report(QStringLiteral("compare"), QStringLiteral("Comparing"), kCompareSteps, [&] {
    trace::Session other = trace::Session::open(path.toStdString());
    const Interruptible interruptible(other, progress_);
    return cli::compare_sessions(cli::Scope(session_->session, {}), cli::Scope(other, {}));
  });
}

}  // namespace tferry::gui
