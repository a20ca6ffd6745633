#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/session/choose_session.hpp"
#include "gui/app/options.hpp"
#include "gui/app/run_window.hpp"
#include "gui/app/screenshot.hpp"
#include "trace/session_error.hpp"

#include <QApplication>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace tferry;

bool has_display() {
  for (const char* variable : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
    const char* value = std::getenv(variable);
    if (value && *value) return true;
  }
  return false;
}

int run(int argc, char** argv) {
  const auto options = gui::parse_options({argv + 1, argv + argc});
  if (!options) return cli::kOk;
  const bool headless = !options->screenshot.empty() || !options->benchmark.empty();
  if (headless) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  } else if (!has_display()) {
    throw cli::Failure("there is no display here",
                       "write a picture with tferry view SESSION --screenshot out.png, or use tferry report");
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("tferry-gui"));
  QApplication::setOrganizationName(QStringLiteral("Tensorferry"));
  QApplication::setDesktopFileName(QStringLiteral("tferry-gui"));
  if (options->screenshot.empty()) return gui::run_window(*options);
  const cli::SessionChoice choice = cli::choose_session(options->session);
  gui::write_screenshot(*options, choice.path.string());
  cli::Console(cli::Verbosity::kNormal)
      .notice(fmt::format("{} -> {}", choice.path.string(), options->screenshot));
  return cli::kOk;
}

}  // namespace

int main(int argc, char** argv) {
  const cli::Console console(cli::Verbosity::kNormal);
  try {
    return run(argc, argv);
  } catch (const cli::Failure& failure) {
    console.failure(failure);
    return failure.exit_code();
  } catch (const trace::SessionError& error) {
    console.failure(cli::session_failure(error));
  } catch (const std::exception& error) {
    console.failure(cli::Failure(error.what(), "this is a defect of Tensorferry; please report the command"));
  }
  return cli::kOwnFailure;
}
