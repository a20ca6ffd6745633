#pragma once

#include <QSize>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::gui {

/// The command line of tferry-gui, which is also that of `tferry view`.
struct Options {
  std::string session;
  std::string compare;     ///< a second session to show below
  std::string screenshot;  ///< .png or .svg; empty: open a window
  std::string from, to;    ///< times after the session's start
  std::optional<QSize> size;
  std::string theme = "auto";  ///< auto, light, dark
  bool force = false;
  std::string benchmark;  ///< moves to measure
  std::string json;       ///< where their times go
  std::string keys;       ///< a script of keystrokes, for tests and pictures
};

/// Throws cli::Failure. Empty where help or version was asked for and given.
std::optional<Options> parse_options(const std::vector<std::string>& arguments);

/// "1920x1080". Throws cli::Failure.
QSize parse_size(const std::string& text);

}  // namespace tferry::gui
