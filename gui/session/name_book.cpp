#include "gui/session/name_book.hpp"

#include "cli/report/reports.hpp"

#include <algorithm>
#include <cctype>

namespace tferry::gui {
namespace {

/// Where the parameter list begins that ends the name; its size if there is none.
std::size_t parameters_at(const std::string& name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (c != '(' || depth != 0) continue;
    if (name.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      continue;
    }
    return i;
  }
  return name.size();
}

}  // namespace

std::string brief_name(const std::string& demangled) {
  const std::string name = demangled.substr(0, parameters_at(demangled));
  std::string brief;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<') {
      ++depth;
    } else if (c == '>') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0) {
      if (c == ' ' || (c == ':' && i + 1 < name.size() && name[i + 1] == ':')) {
        brief.clear();
        if (c == ':') ++i;
      } else {
        brief += c;
      }
    }
  }
  // Wrappers such as cutlass::Kernel2<what_it_is> are named by what they wrap.
  const std::size_t argument = name.find('<');
  if (brief.starts_with("Kernel") && brief.size() <= 8 && argument != std::string::npos) {
    const std::size_t end = name.find_first_of("<>,(", argument + 1);
    const std::string wrapped = brief_name(name.substr(argument + 1, end - argument - 1));
    if (!wrapped.empty()) return wrapped;
  }
  return brief.empty() ? demangled : brief;
}

NameBook::NameBook(trace::Session& session) {
  for (const trace::StringRow& row : session.rows<trace::StringRow>()) raw_.emplace(row.id, row.value);
}

const NameBook::Shown& NameBook::shown(std::int64_t id) const {
  const auto [place, is_new] = shown_.try_emplace(id);
  const auto raw = raw_.find(id);
  if (!is_new || raw == raw_.end()) return place->second;
  const std::string full = cli::demangled(raw->second);
  const std::string brief = brief_name(full);
  std::uint32_t hue = 2166136261U;  // FNV-1a: the same on every machine
  for (const char c : brief) hue = (hue ^ static_cast<unsigned char>(c)) * 16777619U;
  place->second = {QString::fromStdString(full), QString::fromStdString(brief), hue};
  return place->second;
}

const QString& NameBook::full(std::int64_t id) const { return shown(id).full; }
const QString& NameBook::brief(std::int64_t id) const { return shown(id).brief; }
std::uint32_t NameBook::hue(std::int64_t id) const { return shown(id).hue; }

}  // namespace tferry::gui
