#include "tests/replay/plain_spool.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace tferry::replay {

PlainSpool::PlainSpool(const std::string& path) : path_(path) {
  if (!path.ends_with(".gz")) return;
  directory_ = std::filesystem::temp_directory_path() / "tferry-replay-XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp " + directory_);
  path_ = directory_ + "/job.spool";
  // Not through a library that is preloaded into the job under test.
  const std::string command = "LD_PRELOAD= gzip -dc '" + path + "' > '" + path_ + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
}

PlainSpool::~PlainSpool() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace tferry::replay
