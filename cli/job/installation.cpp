#include "cli/job/installation.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace tferry::cli {
namespace {

constexpr const char* kRuntimeLibrary = "libtferry_runtime.so";

}  // namespace

Installation Installation::of_this_program() {
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Failure(fmt::format("/proc/self/exe cannot be read: {}", error.message()), "mount /proc");
  }
  return Installation(std::move(program));
}

Installation::Installation(std::filesystem::path program) : program_(std::move(program)) {}

std::optional<std::filesystem::path> Installation::library(const char* name) const {
  const std::filesystem::path prefix = program_.parent_path().parent_path();
  for (const char* folder : {"lib", "lib64"}) {
    std::error_code ignored;
    const auto candidate = prefix / folder / name;
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> Installation::executable(const char* name) const {
  std::error_code ignored;
  const auto candidate = program_.parent_path() / name;
  if (std::filesystem::is_regular_file(candidate, ignored)) return candidate;
  return std::nullopt;
}

std::optional<std::filesystem::path> Installation::python_hook() const {
  std::error_code ignored;
  const auto folder = program_.parent_path().parent_path() / "share" / "tferry" / "python";
  if (std::filesystem::exists(folder / "sitecustomize.py", ignored)) return folder;
  return std::nullopt;
}

std::filesystem::path Installation::runtime_library() const {
  if (const auto found = library(kRuntimeLibrary)) return *found;
  throw Failure(
      fmt::format("{} was not found in {}", kRuntimeLibrary,
                  (program_.parent_path().parent_path() / "lib").string()),
      "keep bin/ and lib/ of Tensorferry together; it is built where a CUDA toolkit 13.0 or newer is "
      "installed (./bootstrap build)");
}

}  // namespace tferry::cli
