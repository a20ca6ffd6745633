#include "gui/app/key_script.hpp"

#include "cli/failure.hpp"

#include <QApplication>
#include <QFile>
#include <QKeyEvent>
#include <QPixmap>

#include <algorithm>
#include <array>

namespace tferry::gui {
namespace {

constexpr int kTickMs = 20;
constexpr int kQuietTicks = 4;    // nothing was read for so long: the window is done
constexpr int kMostTicks = 1500;  // 30 s
constexpr std::array kCommands = {"report", "step",    "steps",  "key",    "type",
                                  "choose", "current", "expect", "picture"};

QWidget* focused(MainWindow& window) {
  if (QWidget* dialog = QApplication::activeModalWidget()) return dialog;
  QWidget* focus = window.focusWidget();
  return focus ? focus : window.view()->timeline();
}

/// Narrow no-break spaces stand between numbers and units; scripts have plain ones.
QString shown(const QModelIndex& cell) {
  return cell.data().toString().replace(QChar(0x202F), QLatin1Char(' '));
}

void send(QWidget* to, int key, Qt::KeyboardModifiers modifiers, const QString& text) {
  for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease}) {
    QKeyEvent event(type, key, modifiers, text);
    QApplication::sendEvent(to, &event);
  }
}

}  // namespace

KeyScript::KeyScript(MainWindow& window, const QString& file) : window_(window) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly | QIODevice::Text))
    throw cli::Failure("cannot read " + file.toStdString() + ": " + in.errorString().toStdString(),
                       "name an existing file");
  for (QString line : QString::fromUtf8(in.readAll()).split(QLatin1Char('\n'))) {
    line = line.section(QLatin1String(" # "), 0, 0).trimmed();
    if (line.isEmpty() || line.startsWith(QLatin1Char('#'))) continue;
    const QString command = line.section(QLatin1Char(' '), 0, 0);
    if (std::none_of(kCommands.begin(), kCommands.end(),
                     [&](const char* known) { return command == QLatin1String(known); }))
      throw cli::Failure(file.toStdString() + ": \"" + command.toStdString() + "\" is no command",
                         "see gui/app/key_script.hpp");
    lines_ << line;
  }
  timer_.setInterval(kTickMs);
  connect(&timer_, &QTimer::timeout, this, &KeyScript::tick);
}

void KeyScript::start() { timer_.start(); }

void KeyScript::tick() {
  const bool idle = window_.is_settled() || (next_ == 0 && !window_.has_session());
  quiet_ticks_ = idle ? quiet_ticks_ + 1 : 0;
  if (++waited_ticks_ > kMostTicks) {
    fail(QStringLiteral("waited in vain after: ") +
         (next_ > 0 ? lines_[next_ - 1] : QStringLiteral("the start")));
    next_ = lines_.size();
  } else if (quiet_ticks_ < kQuietTicks) {
    return;
  }
  quiet_ticks_ = waited_ticks_ = 0;
  if (next_ < lines_.size() && run(lines_[next_++])) return;
  timer_.stop();
  Q_EMIT finished();
}

bool KeyScript::run(const QString& line) {
  const QString command = line.section(QLatin1Char(' '), 0, 0), rest = line.section(QLatin1Char(' '), 1);
  if (command == QLatin1String("report")) {
    window_.show_panel(rest);
  } else if (command == QLatin1String("steps")) {
    most_steps_ = rest.toInt();
  } else if (command == QLatin1String("step")) {
    if (++steps_ > most_steps_) fail(QStringLiteral("takes more than %1 steps").arg(most_steps_));
  } else if (command == QLatin1String("key")) {
    press(rest);
  } else if (command == QLatin1String("type")) {
    for (const QChar c : rest) send(focused(window_), 0, Qt::NoModifier, QString(c));
  } else if (command == QLatin1String("choose")) {
    choose(rest, true);
  } else if (command == QLatin1String("current")) {
    choose(rest, false);
  } else if (command == QLatin1String("expect")) {
    expect(rest.section(QLatin1Char(' '), 0, 0), rest.section(QLatin1Char(' '), 1));
  } else if (!window_.grab().save(rest, "PNG")) {
    fail(QStringLiteral("cannot write ") + rest);
  }
  return true;
}

void KeyScript::press(const QString& keys) {
  const QKeySequence sequence = QKeySequence::fromString(keys);
  if (sequence.isEmpty()) return fail(QStringLiteral("no key: ") + keys);
  for (QAction* action : window_.findChildren<QAction*>()) {
    if (action->shortcut() == sequence) return action->trigger();
  }
  const QKeyCombination key = sequence[0];
  const bool letter = keys.size() == 1;
  send(focused(window_), key.key(), key.keyboardModifiers(), letter ? keys.toLower() : QString());
}

std::pair<QTableView*, QModelIndex> KeyScript::find_cell(const QString& text) const {
  for (QTableView* view : window_.front_panel()->views()) {
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      for (int column = 0; column < view->model()->columnCount(); ++column) {
        const QModelIndex cell = view->model()->index(row, column);
        if (shown(cell).contains(text, Qt::CaseInsensitive)) return {view, cell};
      }
    }
  }
  return {nullptr, {}};
}

bool KeyScript::is_current(const QString& text) const {
  for (const QTableView* view : window_.front_panel()->views()) {
    if (!view->currentIndex().isValid()) continue;
    for (int column = 0; column < view->model()->columnCount(); ++column) {
      if (shown(view->currentIndex().siblingAtColumn(column)).contains(text, Qt::CaseInsensitive))
        return true;
    }
  }
  return false;
}

void KeyScript::choose(const QString& text, bool enter) {
  const auto [view, cell] = find_cell(text);
  if (!view) return fail(QStringLiteral("no row to choose has \"%1\"").arg(text));
  view->setCurrentIndex(cell);
  view->setFocus();
  if (enter) send(view, Qt::Key_Return, Qt::NoModifier, {});
}

void KeyScript::expect(const QString& what, const QString& text) {
  QString found;
  bool holds = false;
  if (what == QLatin1String("panel")) {
    found = window_.front_panel()->name();
    holds = found == text && !window_.front_panel()->views().empty();
  } else if (what == QLatin1String("row")) {
    found = QStringLiteral("no such cell in report ") + window_.front_panel()->name();
    holds = find_cell(text).first != nullptr;
  } else if (what == QLatin1String("current")) {
    found = QStringLiteral("another row of report ") + window_.front_panel()->name();
    holds = is_current(text);
  } else if (what == QLatin1String("selected")) {
    found = window_.view()->facts().title;
    holds = found.contains(text, Qt::CaseInsensitive);
  } else if (what == QLatin1String("lane")) {
    const Scene& scene = window_.view()->timeline()->scene();
    if (scene.overview && scene.selected_lane >= 0)
      found = scene.overview->lanes[static_cast<std::size_t>(scene.selected_lane)].title;
    holds = found.contains(text, Qt::CaseInsensitive);
  } else if (what == QLatin1String("related")) {
    for (const Relation& relation : window_.view()->relations()) {
      found += relation.text + QStringLiteral("; ");
      holds = holds || relation.text.contains(text, Qt::CaseInsensitive);
    }
  } else if (what == QLatin1String("chart")) {
    const ReportChart* chart = window_.front_panel()->chart();
    found = chart ? QStringLiteral("%1 dots").arg(chart->dots().size()) : QStringLiteral("no chart");
    holds = chart && static_cast<qint64>(chart->dots().size()) >= text.toLongLong();
  } else if (what == QLatin1String("message")) {
    found = window_.view()->has_failed() ? window_.view()->message() : QStringLiteral("(a timeline)");
    holds = found.contains(text, Qt::CaseInsensitive);
  } else {
    found = QStringLiteral("nothing: \"%1\" cannot be expected").arg(what);
  }
  if (!holds) fail(QStringLiteral("expected %1 \"%2\", found \"%3\"").arg(what, text, found));
}

void KeyScript::fail(const QString& why) { failures_ << why; }

}  // namespace tferry::gui
