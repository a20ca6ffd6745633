// NCCL's public entry points, by exact name (ALGORITHMS.md, rule 2): its kernels read buffers that no launch
// argument names, so a buffer given to a collective stays on the device from then on, and is handed over
// complete. The functions are exported in place of NCCL's own and pass every call on unchanged.
#include "runtime/hooks.hpp"
#include "runtime/runtime.hpp"

#include <dlfcn.h>

using namespace tferry::runtime;

namespace {

/// The types of nccl.h that matter to calling conventions: handles are pointers, enumerations ints.
using Handle = void*;
using Stream = void*;
constexpr int kNcclUnhandledCudaError = 1;
constexpr int kNcclSystemError = 2;

/// False when the buffer cannot be brought to the device: then the collective must not run.
bool hand_over(const void* buffer) {
  Runtime* runtime = Runtime::active();
  if (runtime == nullptr) return true;
  runtime->collective_calls_seen();
  return runtime->hand_over(reinterpret_cast<CUdeviceptr>(buffer),
                            tferry::trace::ResidentReason::kCollective);
}

}  // namespace

// The library behind is looked up once, at the first call, when it is surely loaded.
#define TFERRY_NCCL_PASS(NAME, ...)                                                    \
  static const auto next = reinterpret_cast<decltype(&NAME)>(dlsym(RTLD_NEXT, #NAME)); \
  return next != nullptr ? next(__VA_ARGS__) : kNcclSystemError
#define TFERRY_NCCL_TWO(NAME, PARAMETERS, ...)                                   \
  TFERRY_EXPORT int NAME PARAMETERS {                                            \
    if (!hand_over(send) || !hand_over(receive)) return kNcclUnhandledCudaError; \
    TFERRY_NCCL_PASS(NAME, __VA_ARGS__);                                         \
  }
#define TFERRY_NCCL_ONE(NAME, PARAMETERS, ...)              \
  TFERRY_EXPORT int NAME PARAMETERS {                       \
    if (!hand_over(buffer)) return kNcclUnhandledCudaError; \
    TFERRY_NCCL_PASS(NAME, __VA_ARGS__);                    \
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
TFERRY_NCCL_ONE(ncclCommRegister, (Handle comm, void* buffer, std::size_t bytes, void** registration), comm,
                buffer, bytes, registration)
TFERRY_NCCL_ONE(ncclCommWindowRegister,
                (Handle comm, void* buffer, std::size_t bytes, void** window, int flags), comm, buffer, bytes,
                window, flags)
