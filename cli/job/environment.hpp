#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

/// The environment that a job will get, and what was changed in it: the user is told of every change. Not
/// thread-safe; the launcher has one thread.
class Environment {
 public:
  struct Change {
    std::string name;
    std::string value;
    std::optional<std::string> before;  ///< what the user had; unset: nothing
  };

  /// From an `environ`-like array of NAME=VALUE strings; entries without '=' are kept as they are.
  explicit Environment(const char* const* variables);

  std::optional<std::string_view> get(std::string_view name) const;
  void set(std::string_view name, std::string_view value);
  /// Puts `item` in front of a list, keeping what the user had behind it. Does nothing if it is in front
  /// already.
  void prepend(std::string_view name, std::string_view item, char separator);
  void unset(std::string_view name);

  const std::vector<Change>& changes() const noexcept { return changes_; }
  /// For exec: pointers into this object, ending with a null pointer; valid until the next change.
  std::vector<char*> pointers();

 private:
  std::vector<std::string>::iterator find(std::string_view name);

  std::vector<std::string> variables_;
  std::vector<Change> changes_;
};

}  // namespace tferry::cli
