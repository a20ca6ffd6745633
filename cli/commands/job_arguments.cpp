#include "cli/commands/job_arguments.hpp"

#include "cli/failure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tferry::cli {
namespace {

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

/// The option's name as CLI11 knows it: "--budget" of "--budget=3", "-q" of "-qv".
std::string option_name(const std::string& argument) {
  return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
}

}  // namespace

std::size_t skip_options(const CLI::App& command, const std::vector<std::string>& arguments,
                         std::size_t begin) {
  std::size_t i = begin;
  while (i < arguments.size() && is_option(arguments[i]) && arguments[i] != "--") {
    const std::string name = option_name(arguments[i]);
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) {
      const std::string whose = command.get_parent() == nullptr ? "tferry" : "tferry " + command.get_name();
      throw Failure(fmt::format("{} is no option of {}", name, whose),
                    fmt::format("see \"{} --help\"; options of a program to run follow its name", whose));
    }
    const bool takes_next = option->get_items_expected_max() > 0 && arguments[i] == name;
    i += takes_next ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

std::vector<std::string> take_job(const CLI::App& command, std::vector<std::string>& arguments,
                                  std::size_t begin) {
  const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(skip_options(command, arguments, begin));
  std::vector<std::string> job(first, arguments.end());
  if (!job.empty() && job.front() == "--") job.erase(job.begin());
  arguments.erase(first, arguments.end());
  return job;
}

}  // namespace tferry::cli
