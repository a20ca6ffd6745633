#pragma once

#include <string>

namespace tferry::replay {

/// A spool that may be compressed by gzip, as a plain file, as long as this lives.
class PlainSpool {
 public:
  /// Throws std::runtime_error where it cannot be unpacked.
  explicit PlainSpool(const std::string& path);
  ~PlainSpool();
  PlainSpool(const PlainSpool&) = delete;
  PlainSpool& operator=(const PlainSpool&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string directory_;  ///< of ours; empty: the file was plain
};

}  // namespace tferry::replay
