#include "cli/commands/view.hpp"

#include "cli/failure.hpp"
#include "cli/job/installation.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace tferry::cli {
namespace {

constexpr const char* kViewer = "tferry-gui";

}  // namespace

CLI::App* ViewCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand("view", "Look at a session on a time axis");
  app->add_option("SESSION", session_, "The session; without one: the newest *.tferry in this folder");
  app->add_option("--compare", compare_, "Show this session below")->type_name("SESSION");
  app->add_option("--screenshot", screenshot_, "Write a picture (.png or .svg) instead of opening a window")
      ->type_name("FILE");
  app->add_option("--from", from_, "Begin of what is shown, after the session's start: 1.2s, 200ms")
      ->type_name("TIME");
  app->add_option("--to", to_, "End of what is shown")->type_name("TIME");
  app->add_option("--size", size_, "Of picture or window, in pixels: 1920x1080")->type_name("WxH");
  app->add_option("--theme", theme_, "Colours: auto, light, dark")
      ->check(CLI::IsMember({"auto", "light", "dark"}));
  app->add_option("--benchmark", benchmark_, "Measure opening, frames and search over the moves in this file")
      ->type_name("FILE");
  common_.add_to(*app, "what --benchmark measured");
  return app;
}

std::vector<std::string> ViewCommand::arguments() const {
  std::vector<std::string> arguments = {kViewer};
  const std::pair<const char*, const std::string*> options[] = {
      {"--compare", &compare_},     {"--screenshot", &screenshot_},
      {"--from", &from_},           {"--to", &to_},
      {"--size", &size_},           {"--theme", &theme_},
      {"--benchmark", &benchmark_}, {"--json", &common_.json_file}};
  for (const auto& [name, value] : options) {
    if (!value->empty()) arguments.insert(arguments.end(), {name, *value});
  }
  if (common_.force) arguments.emplace_back("--force");
  if (!session_.empty()) arguments.insert(arguments.end(), {"--", session_});
  return arguments;
}

int ViewCommand::execute() const {
  const auto viewer = Installation::of_this_program().executable(kViewer);
  if (!viewer) {
    throw Failure("the viewer is not here: it is built where there is Qt 6.4 or newer",
                  "install qt6-base-dev and libqt6svg6-dev and run ./bootstrap, or use tferry report");
  }
  const std::vector<std::string> words = arguments();
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(viewer->c_str(), argv.data());
  throw Failure(fmt::format("{} cannot be executed: {}", viewer->string(), std::strerror(errno)),
                "build it again with ./bootstrap", kNotExecutable);
}

}  // namespace tferry::cli
