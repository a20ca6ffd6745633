#include "cli/console.hpp"

#include "cli/failure.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr std::string_view kPrefix = "tferry: ";

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads: nothing is left to tell it to
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return ::isatty(descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace

Console::Console(Verbosity verbosity, int descriptor)
    : verbosity_(verbosity), descriptor_(descriptor), colour_(wants_colour(descriptor)) {}

void Console::notice(std::string_view text) const {
  if (verbosity_ != Verbosity::kQuiet) write_lines(text, Colour::kNone);
}

void Console::detail(std::string_view text) const {
  if (verbosity_ == Verbosity::kDetailed) write_lines(text, Colour::kNone);
}

void Console::warning(std::string_view text) const { write_lines(text, Colour::kYellow); }

void Console::failure(const Failure& failure) const {
  std::string text = failure.what();
  if (!failure.remedy().empty()) text += "\nwhat to do: " + failure.remedy();
  write_lines(text, Colour::kRed);
}

void Console::write_lines(std::string_view text, Colour colour) const {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += kPrefix;
    const bool coloured = colour_ && colour != Colour::kNone;
    if (coloured) out += colour == Colour::kRed ? "\033[31m" : "\033[33m";
    out += text.substr(0, end);
    if (coloured) out += "\033[0m";
    out += '\n';
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  write_all(descriptor_, out);
}

}  // namespace tferry::cli
