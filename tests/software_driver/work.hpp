#pragma once

#include "tests/software_driver/completion.hpp"
#include "tests/software_driver/engine.hpp"

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tferry::software_driver {

/// What a graph's node tells about its work: the member that fits its kind. `owner` holds what they point to.
struct WorkDetails {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  std::vector<void*> values;  ///< of the kernel's parameters
  std::shared_ptr<const void> owner;
};

/// One entry of a stream's queue. Work without `run` only orders: an event's record, or a wait.
struct Work {
  CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> run;
  std::shared_ptr<const WorkDetails> details;  ///< of kernels, copies and memsets
  Engine* engine = nullptr;                    ///< occupied while it runs
  std::int64_t bytes = 0;                      ///< counted on the engine
  Nanoseconds duration = 0;
  bool guarded = true;        ///< an illegal access becomes the context's error
  bool after_errors = false;  ///< runs in a context that failed, too
  std::vector<std::shared_ptr<Completion>> after;
  Nanoseconds submitted = 0;  ///< host clock at submission: it does not start earlier
  std::shared_ptr<Completion> done = std::make_shared<Completion>();
};

}  // namespace tferry::software_driver
