#include "cli/job/environment.hpp"

#include <algorithm>

namespace tferry::cli {
namespace {

bool is_named(const std::string& variable, std::string_view name) {
  return variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name);
}

}  // namespace

Environment::Environment(const char* const* variables) {
  for (; variables != nullptr && *variables != nullptr; ++variables) variables_.emplace_back(*variables);
}

std::vector<std::string>::iterator Environment::find(std::string_view name) {
  return std::find_if(variables_.begin(), variables_.end(),
                      [name](const std::string& variable) { return is_named(variable, name); });
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  for (const std::string& variable : variables_) {
    if (is_named(variable, name)) return std::string_view(variable).substr(name.size() + 1);
  }
  return std::nullopt;
}

void Environment::set(std::string_view name, std::string_view value) {
  const auto before = get(name);
  if (before == value) return;
  changes_.push_back(
      {std::string(name), std::string(value), before ? std::optional<std::string>(*before) : std::nullopt});
  std::string variable = std::string(name).append("=").append(value);
  if (const auto existing = find(name); existing != variables_.end()) {
    *existing = std::move(variable);
  } else {
    variables_.push_back(std::move(variable));
  }
}

void Environment::prepend(std::string_view name, std::string_view item, char separator) {
  const auto before = get(name);
  if (!before || before->empty()) return set(name, item);
  if (before->substr(0, before->find(separator)) == item) return;
  set(name, std::string(item).append(1, separator).append(*before));
}

void Environment::unset(std::string_view name) {
  std::erase_if(variables_, [name](const std::string& variable) { return is_named(variable, name); });
}

std::vector<char*> Environment::pointers() {
  std::vector<char*> result;
  for (std::string& variable : variables_) result.push_back(variable.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace tferry::cli
