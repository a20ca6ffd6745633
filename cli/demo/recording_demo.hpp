#pragma once

#include <filesystem>
#include <optional>

namespace tferry::cli {

class Installation;

/// The recording that comes with Tensorferry: share/tferry/gpt2.tferry of the installation, or the one in the
/// repository that this program was built from.
std::optional<std::filesystem::path> find_recording(const Installation& installation);

/// Analyzes a copy of the recording for a budget of its footprint over 1.5 and prints what a user would ask:
/// summary, the longest kernels, memory, quality. Nothing is executed on a GPU. Throws trace::SessionError
/// and Failure.
void show_recording(const std::filesystem::path& recording);

}  // namespace tferry::cli
