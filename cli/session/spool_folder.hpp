#pragma once

#include "cli/session/host_facts.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace tferry::cli {

/// The folder in which --keep-spools keeps the raw recording.
class SpoolFolder {
 public:
  /// Makes the folder where it is missing. Throws Failure if it is not empty, or cannot be written.
  explicit SpoolFolder(std::filesystem::path path);

  /// Copies the spools into it, and what is known of their host; an existing file is not overwritten. Throws
  /// Failure.
  void take(const std::vector<std::string>& spools, const HostFacts& facts) const;

 private:
  std::filesystem::path path_;
};

}  // namespace tferry::cli
