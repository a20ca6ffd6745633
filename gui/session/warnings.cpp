#include "gui/session/warnings.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/time/time_text.hpp"

namespace tferry::gui {
namespace {

constexpr std::int64_t kBadClock = 1'000'000;  // ns: worse than this and arrows between hosts lie

std::int64_t meta_number(trace::Session& session, const char* key) {
  return QString::fromStdString(session.meta(key).value_or("0")).toLongLong();
}

}  // namespace

std::vector<QString> find_warnings(trace::Session& session, bool analyzed) {
  std::vector<QString> warnings;
  if (session.meta("synthetic")) {
    warnings.push_back(
        QStringLiteral("Synthetic: these events were made by tferry demo --synthesize; no GPU ran them."));
  }
  if (session.meta("simulated") || session.meta("emulated")) {
    warnings.push_back(QStringLiteral("Simulated: no GPU ran these events."));
  }
  select(session,
         "SELECT what, reason, sum(coalesce(count, 1)), max(coalesce(detail, '')) FROM loss GROUP BY 1, 2 "
         "ORDER BY 3 "
         "DESC LIMIT 4",
         [&](trace::Statement& row) {
           const QString detail = QString::fromStdString(row.shown(3));
           warnings.push_back(
               QStringLiteral("Missing: %1 × %2, %3%4")
                   .arg(count_text(row.integer(2)), QString::fromStdString(row.shown(0)),
                        QString::fromStdString(row.shown(1)),
                        detail.isEmpty() ? QString() : QStringLiteral(" (") + detail + QLatin1Char(')')));
         });
  select(session, "SELECT count(*), max(what) FROM recorded_range", [&](trace::Statement& row) {
    if (row.integer(0) == 0) return;
    const QString what = QString::fromStdString(row.shown(1));
    warnings.push_back(row.integer(0) == 1
                           ? QStringLiteral("Recorded in part: %1.").arg(what)
                           : QStringLiteral("Recorded in %1 parts: %2.").arg(row.integer(0)).arg(what));
  });
  const std::int64_t unmatched =
      meta_number(session, "join.calls") - meta_number(session, "join.matched_calls");
  if (unmatched > 0) {
    warnings.push_back(
        QStringLiteral("%1 calls have no record of when the GPU ran them.").arg(count_text(unmatched)));
  }
  const std::int64_t clock = session.integer("SELECT max(coalesce(clock_error_ns, 0)) FROM process");
  if (clock > kBadClock) {
    warnings.push_back(
        QStringLiteral("Clocks of different hosts agree only to %1.").arg(duration_text(clock)));
  }
  if (!analyzed) {
    warnings.push_back(
        QStringLiteral("Not analyzed yet: tferry analyze finds iterations, tensors and the bound."));
  }
  return warnings;
}

}  // namespace tferry::gui
