#pragma once

#include "analyzer/workload/workload.hpp"

#include <string>
#include <string_view>

namespace tferry::analyzer {

inline constexpr std::string_view kWorkloadSchema = "tferry.workload/1";

/// Reads the form described in docs/workload.md and validates it. Throws WorkloadError that names the place;
/// nothing in the text is trusted. Tensors are referred to by name, so names must be unique.
Workload workload_from_json(std::string_view text);

/// The reverse, for workloads whose tensors have unique names. Ends with a newline.
std::string to_json(const Workload& workload);

}  // namespace tferry::analyzer
