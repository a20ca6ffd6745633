#pragma once

#include <string>

namespace tferry::cli {

/// What limits an iteration, as a session names it, for people.
inline std::string resource_text(const std::string& resource) {
  if (resource == "compute") return "compute";
  if (resource == "link_in") return "link to the GPU";
  if (resource == "link_out") return "link to the host";
  if (resource == "duplex") return "link, both ways at once";
  return resource;
}

}  // namespace tferry::cli
