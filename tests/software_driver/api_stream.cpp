#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>
#include <utility>

namespace tferry::software_driver {
namespace {

void create(CUstream* out, unsigned flags, int priority) {
  require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0);
  CUstream& handle = checked(out);
  const auto kind = flags & CU_STREAM_NON_BLOCKING ? Stream::Kind::kNonBlocking : Stream::Kind::kBlocking;
  handle = driver().streams.insert(current_context()->make_stream(kind, std::clamp(priority, -5, 0)));
}

void submit(CUstream handle, Work work) {
  const auto stream = stream_of(handle);
  stream->context()->submit(*stream, std::move(work));
}

void throw_error_of(const Stream& stream) {
  const CUresult error = stream.context()->error();
  require(error == CUDA_SUCCESS, error);
}

/// What must be done before this stream counts as idle: for the legacy stream that is the blocking streams'
/// work, too.
std::vector<std::shared_ptr<Completion>> awaited(Stream& stream) {
  if (stream.kind() == Stream::Kind::kLegacy) return stream.context()->pending_blocking();
  const auto last = stream.last();
  return last ? std::vector{last} : std::vector<std::shared_ptr<Completion>>{};
}

void query(CUstream handle) {
  const auto stream = stream_of(handle);
  captures().forbid_capturing(*stream);
  throw_error_of(*stream);
  for (const auto& completion : awaited(*stream)) require(completion->done(), CUDA_ERROR_NOT_READY);
  for (const auto& completion : awaited(*stream)) {
    if (completion->done()) wait_on_host(*completion);
  }
  throw_error_of(*stream);
}

void synchronize(CUstream handle) {
  const auto stream = stream_of(handle);
  captures().forbid_capturing(*stream);
  for (const auto& completion : awaited(*stream)) wait_on_host(*completion);
  throw_error_of(*stream);
}

void wait_event(CUstream stream_handle, CUevent event_handle, unsigned flags) {
  require((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) == 0);
  const auto stream = stream_of(stream_handle);
  const auto event = driver().events.get(event_handle);
  if (captures().wait_event(stream, *event, (flags & CU_EVENT_WAIT_EXTERNAL) != 0)) return;
  const auto recorded = event->last();
  if (!recorded) return;
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  work.after.push_back(recorded);
  stream->context()->enqueue(*stream, std::move(work));
}

Work host_work(CUhostFn function, void* data) {
  require(function != nullptr);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_HOST;
  work.guarded = false;
  work.run = [function, data] { function(data); };
  return work;
}

void add_callback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  require(callback != nullptr && flags == 0);
  const auto stream = stream_of(handle);
  captures().forbid_capturing(*stream);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_HOST;
  work.guarded = false;
  work.after_errors = true;
  work.run = [context = stream->context(), handle, callback, data] {
    callback(handle, context->error(), data);
  };
  stream->context()->submit(*stream, std::move(work));
}

template <class Word>
bool satisfied(Word now, Word value, unsigned flags) {
  switch (flags & 3U) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<Word>>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return static_cast<Word>(~(now | value)) != 0;
  }
}

/// Polls until the word satisfies the condition; gives up when the context has failed.
template <class Word>
Work wait_value(const std::shared_ptr<Stream>& stream, CUdeviceptr address, Word value, unsigned flags) {
  require(address != 0 && address % sizeof(Word) == 0);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  work.run = [context = stream->context().get(), address, value, flags] {
    auto& word = *reinterpret_cast<Word*>(address);
    for (int polls = 0; !satisfied(std::atomic_ref(word).load(std::memory_order_acquire), value, flags);
         ++polls) {
      if (context->error() != CUDA_SUCCESS) return;
      if (polls < 64) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  };
  return work;
}

template <class Word>
Work write_value(CUdeviceptr address, Word value) {
  require(address != 0 && address % sizeof(Word) == 0);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  work.run = [address, value] {
    std::atomic_ref(*reinterpret_cast<Word*>(address)).store(value, std::memory_order_release);
  };
  return work;
}

template <class Word>
void submit_wait(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  const auto stream = stream_of(handle);
  stream->context()->submit(*stream, wait_value<Word>(stream, address, value, flags));
}

void submit_batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations) {
  const auto stream = stream_of(handle);
  require(count > 0 && operations);
  std::vector<Work> works;
  for (unsigned i = 0; i < count; ++i) {
    const auto& wait = operations[i].waitValue;
    const auto& write = operations[i].writeValue;
    switch (operations[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        works.push_back(wait_value<cuuint32_t>(stream, wait.address, wait.value, wait.flags));
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        works.push_back(wait_value<cuuint64_t>(stream, wait.address, wait.value64, wait.flags));
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        works.push_back(write_value<cuuint32_t>(write.address, write.value));
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        works.push_back(write_value<cuuint64_t>(write.address, write.value64));
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        break;
      default:
        throw DriverError(CUDA_ERROR_INVALID_VALUE);
    }
  }
  for (Work& work : works) stream->context()->submit(*stream, std::move(work));
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuStreamCreate, (CUstream * out, unsigned flags)) {
  return call(EntryPoint::cuStreamCreate, [&] { create(out, flags, 0); });
}

SWD_API(cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority)) {
  return call(EntryPoint::cuStreamCreateWithPriority, [&] { create(out, flags, priority); });
}

SWD_API(cuStreamDestroy_v2, (CUstream handle)) {
  return call(EntryPoint::cuStreamDestroy_v2, [&] {
    const auto stream = driver().streams.remove(handle);
    captures().abandon(*stream);
    stream->close();
  });
}

SWD_STREAM_API(cuStreamGetPriority, (CUstream stream, int* priority),
               checked(priority) = stream_of(stream)->priority())
SWD_STREAM_API(cuStreamGetFlags, (CUstream stream, unsigned* flags),
               checked(flags) = stream_of(stream)->kind() == Stream::Kind::kNonBlocking
                                    ? CU_STREAM_NON_BLOCKING
                                    : CU_STREAM_DEFAULT)
SWD_STREAM_API(cuStreamGetId, (CUstream stream, unsigned long long* id),
               checked(id) = stream_of(stream)->id())
SWD_STREAM_API(cuStreamGetCtx, (CUstream stream, CUcontext* context),
               checked(context) = stream_of(stream)->context()->handle)
SWD_STREAM_API(cuStreamGetDevice, (CUstream stream, CUdevice* device),
               checked(device) = stream_of(stream)->context()->device().ordinal)
SWD_STREAM_API(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
               wait_event(stream, event, flags))
SWD_STREAM_API(cuStreamQuery, (CUstream stream), query(stream))
SWD_STREAM_API(cuStreamSynchronize, (CUstream stream), synchronize(stream))
SWD_STREAM_API(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void* data, unsigned flags),
               add_callback(stream, callback, data, flags))
SWD_STREAM_API(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
               submit(stream, host_work(function, data)))
SWD_STREAM_API(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr, std::size_t, unsigned),
               stream_of(stream))
SWD_STREAM_API(cuStreamWaitValue32_v2,
               (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
               submit_wait<cuuint32_t>(stream, address, value, flags))
SWD_STREAM_API(cuStreamWaitValue64_v2,
               (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
               submit_wait<cuuint64_t>(stream, address, value, flags))
SWD_STREAM_API(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned),
               submit(stream, write_value<cuuint32_t>(address, value)))
SWD_STREAM_API(cuStreamWriteValue64_v2, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned),
               submit(stream, write_value<cuuint64_t>(address, value)))
SWD_STREAM_API(cuStreamBatchMemOp_v2,
               (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned),
               submit_batch(stream, count, operations))
