#include "gui/app/options.hpp"

#include "cli/failure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace tferry::gui {
namespace {

constexpr int kSmallest = 64;
constexpr int kLargest = 16384;

}  // namespace

QSize parse_size(const std::string& text) {
  int width = 0, height = 0, end = 0;
  const bool read = std::sscanf(text.c_str(), "%5dx%5d%n", &width, &height, &end) == 2;
  if (!read || static_cast<std::size_t>(end) != text.size() || std::min(width, height) < kSmallest ||
      std::max(width, height) > kLargest) {
    throw cli::Failure(fmt::format("--size: {} is no size", text),
                       fmt::format("write 1920x1080; each side from {} to {}", kSmallest, kLargest));
  }
  return {width, height};
}

std::optional<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  std::string size;
  CLI::App app{"Shows a session on a time axis: kernels, copies, PCIe traffic, memory, plan.", "tferry view"};
  app.set_version_flag("--version", std::string("tferry-gui ") + TFERRY_VERSION);
  app.add_option("SESSION", options.session, "The session; without one: the newest *.tferry in this folder");
  app.add_option("--compare", options.compare, "Show this session below, and what differs")
      ->type_name("SESSION");
  app.add_option("--screenshot", options.screenshot,
                 "Write a picture (.png or .svg) instead of opening a window")
      ->type_name("FILE");
  app.add_option("--from", options.from, "Begin of what is shown, after the session's start: 1.2s, 200ms")
      ->type_name("TIME");
  app.add_option("--to", options.to, "End of what is shown")->type_name("TIME");
  app.add_option("--size", size, "Of picture or window, in pixels: 1920x1080")->type_name("WxH");
  app.add_option("--theme", options.theme, "Colours: auto, light, dark")
      ->check(CLI::IsMember({"auto", "light", "dark"}))
      ->capture_default_str();
  app.add_flag("--force", options.force, "Overwrite an existing file");
  app.add_option("--benchmark", options.benchmark,
                 "Measure opening, frames and search over the moves in this file")
      ->type_name("FILE");
  app.add_option("--json", options.json, "Write what was measured there")->type_name("FILE");
  app.add_option("--keys", options.keys, "Play the keystrokes in this file, and leave")->type_name("FILE");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& request) {
    app.exit(request);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw cli::Failure(error.what(), "see \"tferry view --help\"");
  }
  if (!size.empty()) options.size = parse_size(size);
  if (!options.benchmark.empty() && options.json.empty())
    throw cli::Failure("--benchmark needs a place for its result", "add --json FILE");
  return options;
}

}  // namespace tferry::gui
