#pragma once

#include "trace/session_writer.hpp"

#include <filesystem>
#include <functional>

namespace tferry::cli {

/// Writes the session `from` with changes to `to`, which may be the same: a copy is built beside `to` and
/// renamed, so that readers see the old file or the new one. Throws trace::SessionError, and what `change`
/// throws; `to` is then as it was.
void edit_session(const std::filesystem::path& from, const std::filesystem::path& to, bool force,
                  const std::function<void(trace::SessionWriter&)>& change);

}  // namespace tferry::cli
