#include "cli/calibration/calibration_files.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFile = 16 << 20;

/// FNV-1a, so that the name does not depend on the library.
std::uint32_t hash_of(const std::string& text) {
  std::uint32_t hash = 2166136261u;
  for (const unsigned char letter : text) hash = (hash ^ letter) * 16777619u;
  return hash;
}

std::string safe(const std::string& host) {
  std::string name = host.empty() ? "host" : host.substr(0, 100);
  for (char& letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
    if (!plain) letter = '_';
  }
  return name;
}

std::optional<trace::Calibration> newest(const fs::path& folder,
                                         const std::function<bool(const trace::Calibration&)>& fits) {
  std::optional<trace::Calibration> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    try {
      trace::Calibration calibration = read_calibration(entry->path());
      if (fits(calibration) && (!found || found->created < calibration.created))
        found = std::move(calibration);
    } catch (const Failure&) {
      continue;  // one bad file must not hide the others
    }
  }
  return found;
}

}  // namespace

fs::path calibration_folder(const Environment& environment) {
  const auto data = environment.get("XDG_DATA_HOME");
  if (data && data->starts_with("/")) return fs::path(*data) / "tferry" / "calibration";
  const auto home = environment.get("HOME");
  if (home && home->starts_with("/")) return fs::path(*home) / ".local" / "share" / "tferry" / "calibration";
  return {};
}

std::string calibration_name(const trace::Calibration& calibration) {
  std::vector<std::string> uuids;
  for (const trace::CalibratedGpu& gpu : calibration.gpus) uuids.push_back(gpu.uuid);
  std::sort(uuids.begin(), uuids.end());
  std::string all;
  for (const std::string& uuid : uuids) all += uuid + ";";
  return fmt::format("{}-{:08x}.json", safe(calibration.host), hash_of(all));
}

trace::Calibration read_calibration(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) {
    throw Failure(fmt::format("{} cannot be read: {}", file.string(), error.message()),
                  "name a file that tferry calibrate --json wrote");
  }
  if (size > kMaxFile) {
    throw Failure(fmt::format("{} is too large to be a calibration", file.string()),
                  "name a file that tferry calibrate --json wrote");
  }
  std::ifstream in(file, std::ios::binary);
  try {
    return trace::calibration_from_json(std::string{std::istreambuf_iterator<char>(in), {}});
  } catch (const std::runtime_error& defect) {
    throw Failure(fmt::format("{}: {}", file.string(), defect.what()),
                  "name a file that tferry calibrate --json wrote");
  }
}

std::optional<trace::Calibration> find_calibration(const fs::path& folder, const std::string& uuid) {
  return newest(folder, [&](const trace::Calibration& calibration) {
    return std::any_of(calibration.gpus.begin(), calibration.gpus.end(),
                       [&](const auto& gpu) { return gpu.uuid == uuid; });
  });
}

std::optional<trace::Calibration> find_calibration_at(const fs::path& folder, const std::string& host,
                                                      const std::string& pci_address) {
  return newest(folder, [&](const trace::Calibration& calibration) {
    return calibration.host == host &&
           std::any_of(calibration.gpus.begin(), calibration.gpus.end(),
                       [&](const auto& gpu) { return gpu.pci_address == pci_address; });
  });
}

}  // namespace tferry::cli
