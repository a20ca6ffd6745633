#pragma once

#include "gui/app/options.hpp"
#include "gui/paint/scene.hpp"

#include <string>
#include <vector>

namespace tferry::gui {

/// Writes the picture that the options ask for, of a session at `path` and of the one to compare, if any,
/// below it and aligned by the first iteration. Where all lanes leave room, those of tensors are shown, too.
/// Throws cli::Failure and trace::SessionError; an existing file is only replaced with --force.
void write_screenshot(const Options& options, const std::string& path);

/// The same for scenes that are there already; the file's ending (.png, .svg) is its kind. Throws
/// cli::Failure.
void export_scenes(const std::vector<Scene>& scenes, const std::string& file, const QSize& size, bool force);

/// What --from and --to mean in a session. Throws cli::Failure where nothing of it lies there.
TimeRange asked_range(const Options& options, const Overview& overview);

}  // namespace tferry::gui
