#pragma once

#include "tests/software_driver/completion.hpp"
#include "tests/software_driver/engine.hpp"

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tferry::software_driver {

/// One entry of a stream's queue. Work without `run` only orders: an event's record, or a wait.
struct Work {
  CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> run;
  Engine* engine = nullptr;  ///< occupied while it runs
  std::int64_t bytes = 0;    ///< counted on the engine
  Nanoseconds duration = 0;
  bool guarded = true;        ///< an illegal access becomes the context's error
  bool after_errors = false;  ///< runs in a context that failed, too
  std::vector<std::shared_ptr<Completion>> after;
  Nanoseconds submitted = 0;  ///< host clock at submission: it does not start earlier
  std::shared_ptr<Completion> done = std::make_shared<Completion>();
};

}  // namespace tferry::software_driver
