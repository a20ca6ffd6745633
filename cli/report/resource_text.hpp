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

/// What two transfers shared, as table `contention` names it, for people.
inline std::string contended_resource_text(const std::string& resource) {
  if (resource == "link") return "a link";
  if (resource == "host_memory") return "host memory";
  if (resource == "link_or_host_memory") return "a link or host memory";
  if (resource == "copy_engine") return "the copy engine";
  if (resource == "pageable") return "pageable memory";
  if (resource == "numa") return "memory of another NUMA node";
  if (resource == "collective") return "the link, to a collective";
  if (resource == "other_process") return "another process";
  return resource;
}

}  // namespace tferry::cli
