#pragma once

#include <cstdint>

namespace tferry::trace {
class SessionWriter;
}

namespace tferry::cli {

/// Names allocations by NVTX, into table allocation_name:
/// - after the innermost range that was open on their thread when they were made. Ranges that were started on
///   one thread and ended on another count for the one that started them;
/// - those of threads without a range, as autograd's, after a backward pass that another thread runs;
/// - whatever made them, after a mark tferry:CATEGORY:PATH@ADDRESS while they are alive; where marks at
///   several addresses fall into one allocation, it is a pool, and its name says so.
/// Ranges tferry:CATEGORY:PATH and these marks are of the start-up hook for PyTorch (collector/python), and
/// give a category; a range of the program's within one of them keeps that category. What is freed before its
/// module's forward pass ends is workspace. Returns how many have a name. Memory: names, and what is alive at
/// once.
std::int64_t name_allocations_by_nvtx(trace::SessionWriter& writer);

/// After an analysis: allocations without a name get that of the tensor that they are, where the tensor's
/// other allocations have one (source "matched"), and tensors get the category of most of theirs. What an
/// earlier analysis matched is replaced.
void carry_names_over(trace::SessionWriter& writer);

}  // namespace tferry::cli
