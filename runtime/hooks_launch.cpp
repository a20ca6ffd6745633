// Launches: every argument word is looked at, what it names is brought in, and the launch waits for it on the
// GPU.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"
#include "trace/flat_plan.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

using namespace tferry::runtime;
using tferry::trace::OperationSignature;

namespace {

struct Shape {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
};

/// Of a launch that an access pass may try or watch: what its arguments are.
struct Tried {
  Operation* operation = nullptr;
  std::vector<std::uint64_t> words;
  bool possible = false;
};

/// What words of eight bytes leave out of the arguments: the ends of those whose size is no multiple of it.
void add_tails(const tferry::cuda::FunctionInfo& info, void* const* parameters, void* const* extra,
               std::vector<std::uint64_t>& words) {
  const auto add = [&words](const void* begin, std::size_t size) {
    const std::size_t rest = size % sizeof(std::uint64_t);
    if (begin == nullptr || rest == 0) return;
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(begin) + size - rest, rest);
    words.push_back(word);
  };
  if (parameters != nullptr) {
    for (std::size_t i = 0; i < info.parameters.size(); ++i) add(parameters[i], info.parameters[i].size);
  } else if (extra != nullptr) {
    std::size_t size = info.buffer_size;
    add(tferry::cuda::detail::packed_buffer(extra, size), size);
  }
}

/// The launch as an experiment: no lock is held, and what it names is pinned.
template <class Call>
CUresult try_launch(AccessProbe& probe, Runtime& runtime, Tried& tried, CUstream stream, Call pass) {
  std::vector<AccessProbe::Region> regions;
  std::vector<std::uint64_t> others = {tried.operation->signature};
  for (const std::uint64_t word : tried.words) {
    const auto view = runtime.view(word);
    if (!view) {
      others.push_back(word);  // a number, or memory that is not ours
      continue;
    }
    others.push_back(word - view->address);
    const bool known = std::any_of(regions.begin(), regions.end(), [&](const AccessProbe::Region& region) {
      return region.allocation == view->buffer_id;
    });
    if (!known) regions.push_back({view->address, view->size, view->buffer_id});
  }
  const std::string_view key(reinterpret_cast<const char*>(others.data()),
                             others.size() * sizeof(std::uint64_t));
  return probe.run(
      std::hash<std::string_view>{}(key), regions, tried.operation->details.accesses, stream,
      [&](std::uint64_t word) { return runtime.is_address(word); }, pass);
}

template <class Call>
CUresult launch(CUfunction function, const Shape& shape, CUstream stream, bool per_thread, void** parameters,
                void** extra, Call pass) {
  Tried tried;
  Operation* watched = nullptr;  ///< by the pass by pages
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        operation.is_launch = true;
        const auto* info = runtime.function_info(function);
        operation.signature = OperationSignature::launch(
            info != nullptr ? info->name_hash : OperationSignature::name_hash({}),
            {shape.grid_x, shape.grid_y, shape.grid_z}, {shape.block_x, shape.block_y, shape.block_z});
        if (operation.recording) {
          operation.details.kind = OperationDetails::Kind::kLaunch;
          operation.details.function = info;
          operation.details.grid = {shape.grid_x, shape.grid_y, shape.grid_z};
          operation.details.block = {shape.block_x, shape.block_y, shape.block_z};
          operation.details.shared_bytes = shape.shared;
        }
        if (info != nullptr) {
          const std::uint64_t blocks = std::uint64_t{shape.grid_x} * shape.grid_y * shape.grid_z;
          const bool trying = operation.recording && runtime.access_probe() != nullptr;
          tferry::cuda::for_each_argument_word(*info, blocks, parameters, extra, [&](std::uint64_t word) {
            runtime.name(operation, word);
            if (trying) tried.words.push_back(word);
          });
          if (trying) {
            tried.operation = &operation;
            add_tails(*info, parameters, extra, tried.words);
          }
          tried.possible = trying && g_capturing.load(std::memory_order_relaxed) == 0 && !info->collective;
          if (info->collective) runtime.collective_launched(operation);
        } else {
          runtime.unreadable_launch(operation);
        }
        const bool collective = info != nullptr && info->collective;
        if (operation.recording && !collective && g_capturing.load(std::memory_order_relaxed) == 0 &&
            runtime.page_probe() != nullptr)
          watched = &operation;
      },
      [&] {
        Runtime* runtime = Runtime::active();
        if (runtime != nullptr && watched != nullptr) {
          const CUstream own = stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
          return runtime->watch_pages(*watched, own, [&] { return pass(stream); });
        }
        if (runtime == nullptr) return pass(stream);
        if (runtime->access_probe() == nullptr) {
          const auto hold = runtime->beside_probe();
          return pass(stream);
        }
        if (!tried.possible) {
          const auto hold = runtime->beside_probe();
          return pass(stream);
        }
        return try_launch(*runtime->access_probe(), *runtime, tried, stream, pass);
      });
}

}  // namespace

#define TFERRY_LAUNCH(NAME, PER_THREAD, PARAMETERS, FUNCTION, SHAPE, STREAM, KERNEL_PARAMETERS, EXTRA, ...) \
  TFERRY_EXPORT CUresult NAME PARAMETERS {                                                                  \
    return launch(FUNCTION, SHAPE, STREAM, PER_THREAD, KERNEL_PARAMETERS, EXTRA,                            \
                  [&](CUstream on) { return call(real().NAME, __VA_ARGS__); });                             \
  }

#define TFERRY_LAUNCH_KERNEL(NAME, PER_THREAD)                                                               \
  TFERRY_LAUNCH(NAME, PER_THREAD,                                                                            \
                (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                 unsigned shared, CUstream stream, void** parameters, void** extra),                         \
                f, (Shape{gx, gy, gz, bx, by, bz, shared}), stream, parameters, extra, f, gx, gy, gz, bx,    \
                by, bz, shared, on, parameters, extra)
TFERRY_LAUNCH_KERNEL(cuLaunchKernel, false)
TFERRY_LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)

#define TFERRY_LAUNCH_COOPERATIVE(NAME, PER_THREAD)                                                          \
  TFERRY_LAUNCH(NAME, PER_THREAD,                                                                            \
                (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                 unsigned shared, CUstream stream, void** parameters),                                       \
                f, (Shape{gx, gy, gz, bx, by, bz, shared}), stream, parameters, nullptr, f, gx, gy, gz, bx,  \
                by, bz, shared, on, parameters)
TFERRY_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
TFERRY_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

#define TFERRY_LAUNCH_EX(NAME, PER_THREAD)                                                                   \
  TFERRY_EXPORT CUresult NAME(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) { \
    if (config == nullptr) return call(real().NAME, config, f, parameters, extra);                           \
    const auto pass = [&](CUstream on) {                                                                     \
      CUlaunchConfig there = *config;                                                                        \
      there.hStream = on;                                                                                    \
      return call(real().NAME, on == config->hStream ? config : &there, f, parameters, extra);               \
    };                                                                                                       \
    return launch(f,                                                                                         \
                  Shape{config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,             \
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes},                       \
                  config->hStream, PER_THREAD, parameters, extra, pass);                                     \
  }
TFERRY_LAUNCH_EX(cuLaunchKernelEx, false)
TFERRY_LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

namespace {

template <class Call>
CUresult launch_graph(CUgraphExec exec, CUstream stream, bool per_thread, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        operation.signature = OperationSignature::graph();
        operation.details.kind = OperationDetails::Kind::kGraph;
        operation.details.graph = reinterpret_cast<std::uint64_t>(exec);
        runtime.graph_launch_waits(operation);
        runtime.name_nodes(operation, exec);
      },
      pass);
}

}  // namespace

#define TFERRY_GRAPH_LAUNCH(NAME, PER_THREAD)                                                       \
  TFERRY_EXPORT CUresult NAME(CUgraphExec exec, CUstream stream) {                                  \
    return launch_graph(exec, stream, PER_THREAD, [&] { return call(real().NAME, exec, stream); }); \
  }
TFERRY_GRAPH_LAUNCH(cuGraphLaunch, false)
TFERRY_GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)

TFERRY_EXPORT CUresult cuModuleUnload(CUmodule module) {
  if (Runtime* runtime = Runtime::active()) runtime->forget_functions();
  return call(real().cuModuleUnload, module);
}

TFERRY_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  if (Runtime* runtime = Runtime::active()) runtime->forget_functions();
  return call(real().cuLibraryUnload, library);
}

namespace tferry::runtime {

std::span<const cuda::Hook> launch_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuLaunchKernel),
      TFERRY_HOOK(cuLaunchKernel_ptsz),
      TFERRY_HOOK(cuLaunchKernelEx),
      TFERRY_HOOK(cuLaunchKernelEx_ptsz),
      TFERRY_HOOK(cuLaunchCooperativeKernel),
      TFERRY_HOOK(cuLaunchCooperativeKernel_ptsz),
      TFERRY_HOOK(cuGraphLaunch),
      TFERRY_HOOK(cuGraphLaunch_ptsz),
      TFERRY_HOOK(cuModuleUnload),
      TFERRY_HOOK(cuLibraryUnload),
  };
  return hooks;
}

}  // namespace tferry::runtime
