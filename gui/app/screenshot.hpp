#pragma once

#include "gui/app/options.hpp"
#include "gui/paint/scene.hpp"

#include <string>

namespace tferry::gui {

/// Writes the picture that the options ask for, of a session at `path`. Throws cli::Failure and
/// trace::SessionError; an existing file is only replaced with --force.
void write_screenshot(const Options& options, const std::string& path);

/// The same for a scene that is there already; the file's ending (.png, .svg) is its kind. Throws
/// cli::Failure.
void export_scene(const Scene& scene, const std::string& file, const QSize& size, bool force);

/// What --from and --to mean in a session. Throws cli::Failure where nothing of it lies there.
TimeRange asked_range(const Options& options, const Overview& overview);

}  // namespace tferry::gui
