#include "cli/plan/plan_reference.hpp"

#include "cli/failure.hpp"
#include "cli/session/choose_session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace tferry::cli {
namespace {

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace

PlanReference find_plan(const std::string& text) {
  PlanReference reference;
  std::string session = text;
  const std::size_t colon = text.rfind(':');
  std::error_code ignored;
  if (colon != std::string::npos && !std::filesystem::exists(text, ignored)) {
    session = text.substr(0, colon);
    reference.plan = number_in(text.substr(colon + 1));
    if (!reference.plan) {
      throw Failure(fmt::format("{}: {} is no number of a plan", text, text.substr(colon + 1)),
                    "write SESSION:N; tferry plan show SESSION lists its plans");
    }
  }
  const SessionChoice choice = choose_session(session);
  reference.session = choice.path;
  reference.chosen_for_you = choice.chosen_for_you;
  return reference;
}

}  // namespace tferry::cli
