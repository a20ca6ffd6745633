#pragma once

#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/job/environment.hpp"
#include "cli/topology/pcie_tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

/// Takes out of a text who and where: the home folder becomes ~, the user's and the host's name USER and
/// HOST, and UUIDs of GPUs lose all but their first digits.
class Redaction {
 public:
  Redaction(std::string home, std::string user, std::string host);
  /// Of this process.
  static Redaction of_this_process(const Environment& environment);

  std::string apply(std::string text) const;

 private:
  std::string home_, user_, host_;
};

/// True for variables that tell how CUDA, PyTorch, JAX, NCCL, launchers and Tensorferry are set up, and that
/// are no secret by their name.
bool belongs_into_bundle(std::string_view variable);

/// What a bug report needs, as JSON: findings, versions of system and driver, the PCIe tree, limits, and
/// those variables; nothing else of the environment. Redacted.
std::string bundle(const std::vector<Finding>& findings, const std::vector<PcieLink>& links,
                   const Machine& machine, const char* const* variables, const Redaction& redaction);

}  // namespace tferry::cli
