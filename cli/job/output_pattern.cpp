#include "cli/job/output_pattern.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".tferry";
constexpr std::array kInterpreters = {"python", "pypy", "perl", "ruby", "node", "bash", "sh", "dash", "zsh"};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown-host";
  return name.data();
}

std::string within_folder(std::string_view value) {
  std::string result(value);
  std::replace(result.begin(), result.end(), '/', '_');
  return result;
}

bool is_interpreter(const std::string& name) {
  return std::any_of(kInterpreters.begin(), kInterpreters.end(), [&name](std::string_view interpreter) {
    if (!name.starts_with(interpreter)) return false;
    const std::string_view version = std::string_view(name).substr(interpreter.size());
    return version.find_first_not_of("0123456789.") == std::string_view::npos;
  });
}

/// The script or module behind an interpreter; empty for code on the command line or a terminal session.
std::string script_of(const std::vector<std::string>& job) {
  for (std::size_t i = 1; i < job.size(); ++i) {
    if (job[i] == "-c") return "";
    if (job[i] == "-m") return i + 1 < job.size() ? job[i + 1] : "";
    if (job[i] == "-W" || job[i] == "-X")
      ++i;
    else if (!job[i].starts_with('-'))
      return fs::path(job[i]).stem().string();
  }
  return "";
}

}  // namespace

std::string expand_output_pattern(std::string_view pattern, const Environment& environment) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      result += pattern[i];
      continue;
    }
    const char kind = ++i < pattern.size() ? pattern[i] : '\0';
    if (kind == '%') {
      result += '%';
    } else if (kind == 'h') {
      result += within_folder(host_name());
    } else if (kind == 'p') {
      result += std::to_string(::getpid());
    } else if (const std::size_t end = pattern.find('}', i);
               kind == 'q' && pattern.substr(i + 1).starts_with('{') && end != std::string_view::npos) {
      const std::string_view name = pattern.substr(i + 2, end - i - 2);
      const auto value = environment.get(name);
      if (!value) {
        throw Failure(fmt::format("-o {}: the variable {} is not set", pattern, name),
                      "set it, or name the file otherwise");
      }
      result += within_folder(*value);
      i = end;
    } else {
      throw Failure(
          fmt::format("-o {}: what stands behind the % at character {} is not understood", pattern, i),
          "%h is the host, %p the process id, %q{NAME} a variable, %% a per cent sign");
    }
  }
  return result;
}

std::string recording_name(const std::vector<std::string>& job) {
  const std::string program = fs::path(job.front()).filename().string();
  const std::string script = is_interpreter(program) ? script_of(job) : "";
  const std::string& name = script.empty() ? program : script;
  return name.empty() || name.front() == '.' ? "job" + name : name;
}

fs::path next_session_path(const fs::path& folder, const std::string& name) {
  const std::string prefix = name + ".";
  std::int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.starts_with(prefix) || !file.ends_with(kExtension) ||
        file.size() <= prefix.size() + kExtension.size()) {
      continue;
    }
    std::int64_t number = 0;
    const char* const begin = file.data() + prefix.size();
    const char* const stop = file.data() + file.size() - kExtension.size();
    const auto parsed = std::from_chars(begin, stop, number);
    if (parsed.ec == std::errc{} && parsed.ptr == stop && number < 1'000'000'000)
      last = std::max(last, number);
  }
  return folder / fmt::format("{}.{}{}", name, last + 1, kExtension);
}

}  // namespace tferry::cli
