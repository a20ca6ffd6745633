#include <QApplication>
#include <QStandardPaths>
#include <gtest/gtest.h>

/// Without a display, and with settings that are not the user's.
int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  QStandardPaths::setTestModeEnabled(true);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("tferry-gui-test"));
  QApplication::setOrganizationName(QStringLiteral("Tensorferry test"));
  return RUN_ALL_TESTS();
}
