#pragma once

#include "trace/session.hpp"

#include <QString>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace tferry::gui {

/// The names of a session: what table `string` holds, demangled when first asked for, and shortened for
/// places with little room. Threads: one at a time.
class NameBook {
 public:
  NameBook() = default;
  /// Reads all strings. Throws trace::SessionError.
  explicit NameBook(trace::Session& session);

  /// Empty for an id that is not there.
  const QString& full(std::int64_t id) const;
  /// A kernel's own name, without return type, namespaces, template arguments and parameters.
  const QString& brief(std::int64_t id) const;
  const std::unordered_map<std::int64_t, std::string>& raw() const { return raw_; }
  /// The same for the same brief name, in every session: for colours.
  std::uint32_t hue(std::int64_t id) const;

 private:
  struct Shown {
    QString full, brief;
    std::uint32_t hue = 0;
  };
  const Shown& shown(std::int64_t id) const;

  std::unordered_map<std::int64_t, std::string> raw_;
  mutable std::unordered_map<std::int64_t, Shown> shown_;
};

/// "void a::b<c>::d<e>(f)" -> "d".
std::string brief_name(const std::string& demangled);

}  // namespace tferry::gui
