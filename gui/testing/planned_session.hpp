#pragma once

#include <string>

namespace tferry::gui {

/// Writes a session of a job that ran under a plan: two iterations of 12 ms on one GPU, at 0 and 12 ms. In
/// each, tensor "layer1.weight" (64 MiB) is parked at 1 ms and fetched for operation 2 of the iteration,
/// which waits 2 ms for it in the first and not at all in the second. The plan predicts 10 ms, the bound is
/// 9, the kernels alone take 8.
void write_planned_session(const std::string& path);

/// Path of such a session, made once for the process.
const std::string& planned_session();

}  // namespace tferry::gui
