#include "gui/app/run_window.hpp"

#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/session/choose_session.hpp"
#include "gui/app/benchmark.hpp"
#include "gui/app/key_script.hpp"
#include "gui/window/main_window.hpp"

#include <QApplication>

namespace tferry::gui {

namespace {

/// Exit code 1 where something was not as expected.
int play(MainWindow& window, const Options& options) {
  KeyScript script(window, QString::fromStdString(options.keys));
  QObject::connect(&script, &KeyScript::finished, QApplication::instance(), &QCoreApplication::quit,
                   Qt::QueuedConnection);
  if (!options.session.empty()) window.open(QString::fromStdString(options.session));
  script.start();
  QApplication::exec();
  const cli::Console console(cli::Verbosity::kNormal);
  for (const QString& failure : script.failures()) console.warning(failure.toStdString());
  return script.failures().isEmpty() ? cli::kOk : 1;
}

}  // namespace

int run_window(const Options& options) {
  if (!options.benchmark.empty()) return run_benchmark(options);
  MainWindow window(options);
  window.show();
  if (!options.keys.empty()) return play(window, options);
  try {
    const QString named = QString::fromStdString(options.session);
    window.open(SpoolFollower::is_recording(named)
                    ? named
                    : QString::fromStdString(cli::choose_session(options.session).path.string()));
  } catch (const cli::Failure&) {
    // No session here and none named: the window says how to open one.
  }
  if (!options.compare.empty()) window.open_below(QString::fromStdString(options.compare));
  return QApplication::exec();
}

}  // namespace tferry::gui
