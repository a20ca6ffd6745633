// NCCL's public entry points, by exact name (ALGORITHMS.md, rule 2): its kernels read buffers that no launch
// argument names, so a buffer given to a collective stays on the device from then on, and is handed over
// complete. The functions are exported in place of NCCL's own and pass every call on unchanged.
#include "cuda/next_library.hpp"
#include "runtime/hooks.hpp"
#include "runtime/runtime.hpp"

#include <atomic>

using namespace tferry::runtime;

namespace {

/// The types of nccl.h that matter to calling conventions: handles are pointers, enumerations ints.
using Handle = void*;
using Stream = void*;
constexpr int kNcclUnhandledCudaError = 1;
constexpr int kNcclSystemError = 2;

/// False when the buffer cannot be brought to the device: then the collective must not run. `stream` is where
/// it will run and waits for the buffer; without one, as for a registration, the host does.
bool hand_over(const void* buffer, const Stream* stream) {
  Runtime* runtime = Runtime::active();
  if (runtime == nullptr) return true;
  runtime->collective_calls_seen();
  const auto handle = stream != nullptr ? static_cast<CUstream>(*stream) : CUstream{};
  return runtime->hand_over(reinterpret_cast<CUdeviceptr>(buffer), tferry::trace::ResidentReason::kCollective,
                            stream != nullptr ? &handle : nullptr);
}

}  // namespace

// The library behind is looked up at the first call, when it is surely loaded.
#define TFERRY_NCCL_PASS(NAME, ...)                                                \
  static std::atomic<void*> known{nullptr};                                        \
  const auto next = reinterpret_cast<decltype(&NAME)>(tferry::cuda::next_function( \
      known, #NAME, reinterpret_cast<void*>(&NAME), __builtin_return_address(0))); \
  return next != nullptr ? next(__VA_ARGS__) : kNcclSystemError
#define TFERRY_NCCL_TWO(NAME, PARAMETERS, ...)                                                     \
  TFERRY_EXPORT int NAME PARAMETERS {                                                              \
    if (!hand_over(send, &stream) || !hand_over(receive, &stream)) return kNcclUnhandledCudaError; \
    TFERRY_NCCL_PASS(NAME, __VA_ARGS__);                                                           \
  }
#define TFERRY_NCCL_ONE(NAME, PARAMETERS, ...)                       \
  TFERRY_EXPORT int NAME PARAMETERS {                                \
    if (!hand_over(buffer, &stream)) return kNcclUnhandledCudaError; \
    TFERRY_NCCL_PASS(NAME, __VA_ARGS__);                             \
  }
#define TFERRY_NCCL_REGISTER(NAME, PARAMETERS, ...)                  \
  TFERRY_EXPORT int NAME PARAMETERS {                                \
    if (!hand_over(buffer, nullptr)) return kNcclUnhandledCudaError; \
    TFERRY_NCCL_PASS(NAME, __VA_ARGS__);                             \
  }

TFERRY_NCCL_TWO(ncclAllReduce,
                (const void* send, void* receive, std::size_t count, int type, int op, Handle comm,
                 Stream stream),
                send, receive, count, type, op, comm, stream)
TFERRY_NCCL_TWO(ncclReduce,
                (const void* send, void* receive, std::size_t count, int type, int op, int root, Handle comm,
                 Stream stream),
                send, receive, count, type, op, root, comm, stream)
TFERRY_NCCL_TWO(ncclBroadcast,
                (const void* send, void* receive, std::size_t count, int type, int root, Handle comm,
                 Stream stream),
                send, receive, count, type, root, comm, stream)
TFERRY_NCCL_ONE(ncclBcast, (void* buffer, std::size_t count, int type, int root, Handle comm, Stream stream),
                buffer, count, type, root, comm, stream)
TFERRY_NCCL_TWO(ncclAllGather,
                (const void* send, void* receive, std::size_t count, int type, Handle comm, Stream stream),
                send, receive, count, type, comm, stream)
TFERRY_NCCL_TWO(ncclReduceScatter,
                (const void* send, void* receive, std::size_t count, int type, int op, Handle comm,
                 Stream stream),
                send, receive, count, type, op, comm, stream)
TFERRY_NCCL_TWO(ncclAlltoAll,
                (const void* send, void* receive, std::size_t count, int type, Handle comm, Stream stream),
                send, receive, count, type, comm, stream)
TFERRY_NCCL_TWO(ncclGather,
                (const void* send, void* receive, std::size_t count, int type, int root, Handle comm,
                 Stream stream),
                send, receive, count, type, root, comm, stream)
TFERRY_NCCL_TWO(ncclScatter,
                (const void* send, void* receive, std::size_t count, int type, int root, Handle comm,
                 Stream stream),
                send, receive, count, type, root, comm, stream)
TFERRY_NCCL_ONE(ncclSend,
                (const void* buffer, std::size_t count, int type, int peer, Handle comm, Stream stream),
                buffer, count, type, peer, comm, stream)
TFERRY_NCCL_ONE(ncclRecv, (void* buffer, std::size_t count, int type, int peer, Handle comm, Stream stream),
                buffer, count, type, peer, comm, stream)
TFERRY_NCCL_ONE(ncclPutSignal,
                (const void* buffer, std::size_t count, int type, int peer, void* window, std::size_t offset,
                 int signal, int context, unsigned flags, Handle comm, Stream stream),
                buffer, count, type, peer, window, offset, signal, context, flags, comm, stream)
TFERRY_NCCL_REGISTER(ncclCommRegister, (Handle comm, void* buffer, std::size_t bytes, void** registration),
                     comm, buffer, bytes, registration)
TFERRY_NCCL_REGISTER(ncclCommWindowRegister,
                     (Handle comm, void* buffer, std::size_t bytes, void** window, int flags), comm, buffer,
                     bytes, window, flags)
