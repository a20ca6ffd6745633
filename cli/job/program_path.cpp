#include "cli/job/program_path.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

enum class Usable { kYes, kMissing, kForbidden, kDirectory };

Usable examine(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return errno == EACCES ? Usable::kForbidden : Usable::kMissing;
  if (S_ISDIR(status.st_mode)) return Usable::kDirectory;
  return ::access(path.c_str(), X_OK) == 0 ? Usable::kYes : Usable::kForbidden;
}

[[noreturn]] void refuse(const std::string& path, Usable why) {
  switch (why) {
    case Usable::kDirectory:
      throw Failure(fmt::format("{} is a directory, not a program", path), "name the program in it",
                    kNotExecutable);
    case Usable::kForbidden:
      throw Failure(fmt::format("{} is not executable: permission denied", path),
                    fmt::format("chmod +x {0}, or run it by its interpreter (python3 {0})", path),
                    kNotExecutable);
    default:
      break;
  }
  throw Failure(fmt::format("{}: no such file", path), "check the path of the program", kNotFound);
}

}  // namespace

std::string resolve_program(const std::string& name, std::string_view search_path) {
  if (name.empty())
    throw Failure("the program's name is empty", "write tferry run PROGRAM ARGS...", kNotFound);
  if (name.find('/') != std::string::npos) {
    const Usable usable = examine(name);
    if (usable != Usable::kYes) refuse(name, usable);
    return name;
  }
  std::string forbidden;
  while (true) {
    const std::size_t colon = search_path.find(':');
    const std::string_view folder = search_path.substr(0, colon);
    const std::string candidate = std::string(folder.empty() ? "." : folder).append("/").append(name);
    const Usable usable = examine(candidate);
    if (usable == Usable::kYes) return candidate;
    if (usable == Usable::kForbidden && forbidden.empty()) forbidden = candidate;
    if (colon == std::string_view::npos) break;
    search_path.remove_prefix(colon + 1);
  }
  if (!forbidden.empty()) refuse(forbidden, Usable::kForbidden);
  throw Failure(fmt::format("{}: not found in PATH", name),
                fmt::format("check the spelling, or write the path (./{})", name), kNotFound);
}

}  // namespace tferry::cli
