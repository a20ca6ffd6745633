// Whoever does not see the window is told what each part of it is.
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/window_fixture.hpp"
#include "gui/window/key_help.hpp"

#include <QAbstractButton>
#include <QAccessible>
#include <QAction>
#include <QDialog>
#include <QMenu>
#include <QMenuBar>

namespace tferry::gui {
namespace {

/// What a reader of screens says of it.
QString spoken_name(QWidget* widget) {
  const QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(widget);
  return interface ? interface->text(QAccessible::Name) : QString();
}

/// Parts that Qt makes and that speak through the widget that they are a part of.
bool is_inner(const QWidget* widget) {
  return widget->objectName().startsWith(QLatin1String("qt_")) || widget->inherits("QTableCornerButton") ||
         widget->inherits("QScrollBar") || widget->inherits("QLineEditIconButton") ||
         widget->inherits("QDockWidgetTitleButton");
}

/// Those that can be worked with and have no name.
std::string nameless(QWidget& window) {
  std::string found;
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    const bool works = widget->focusPolicy() != Qt::NoFocus || widget->inherits("QAbstractButton") ||
                       widget->inherits("QProgressBar");
    if (!works || is_inner(widget) || !spoken_name(widget).isEmpty()) continue;
    found += std::string(widget->metaObject()->className()) + " in " +
             (widget->parentWidget() ? widget->parentWidget()->metaObject()->className() : "nothing") + "\n";
  }
  return found;
}

TEST_F(MainWindowTest, EverythingThatCanBeWorkedWithHasAName) {
  open(analyzed_golden());
  window_.open_below(QString::fromStdString(analyzed_golden()));
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  for (const char* name :
       {"summary", "memory", "transfers", "tensors", "plan", "curve", "waterfall", "compare"})
    report(name);
  EXPECT_EQ(nameless(window_), "");
}

TEST_F(MainWindowTest, EveryOrderOfTheMenusHasWords) {
  open(analyzed_golden());
  int orders = 0;
  for (const QAction* menu : window_.menuBar()->actions()) {
    EXPECT_FALSE(menu->text().isEmpty());
    for (const QAction* action : menu->menu()->actions()) {
      if (action->isSeparator()) continue;
      EXPECT_FALSE(action->text().isEmpty());
      ++orders;
    }
  }
  EXPECT_GT(orders, 25);
}

TEST_F(MainWindowTest, TheTimelineSaysWhichLaneIsChosen) {
  open(contended_session());
  key(Qt::Key_Down);
  const QString first = timeline()->accessibleDescription();
  key(Qt::Key_Down);
  EXPECT_FALSE(first.isEmpty());
  EXPECT_NE(timeline()->accessibleDescription(), first);
}

TEST_F(MainWindowTest, TheHelpOfKeysHasNames) {
  window_.show();
  KeyHelp::show_over(&window_);
  auto* dialog = window_.findChild<QDialog*>(QStringLiteral("keys"));
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(nameless(*dialog), "");
  dialog->close();
}

}  // namespace
}  // namespace tferry::gui
