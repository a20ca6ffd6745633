#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"

#include <utility>

namespace tferry::software_driver {
namespace {

void record(CUevent event_handle, CUstream stream_handle, unsigned flags) {
  require((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) == 0);
  const auto event = driver().events.get(event_handle);
  const auto stream = stream_of(stream_handle);
  require(stream->context()->handle == event->context);
  if (captures().record_event(*stream, event, (flags & CU_EVENT_RECORD_EXTERNAL) != 0)) return;
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  const auto done = work.done;
  stream->context()->submit(*stream, std::move(work));
  event->set_last(done);
}

std::shared_ptr<Event> event_outside_capture(CUevent handle) {
  auto event = driver().events.get(handle);
  captures().forbid_captured(*event);
  return event;
}

void throw_error_here() {
  const CUresult error = current_context()->error();
  require(error == CUDA_SUCCESS, error);
}

void elapsed(float* milliseconds, CUevent begin_handle, CUevent end_handle) {
  const auto begin = event_outside_capture(begin_handle);
  const auto end = event_outside_capture(end_handle);
  require(((begin->flags | end->flags) & CU_EVENT_DISABLE_TIMING) == 0, CUDA_ERROR_INVALID_HANDLE);
  const auto from = begin->last();
  const auto to = end->last();
  require(from && to, CUDA_ERROR_INVALID_HANDLE);
  require(from->done() && to->done(), CUDA_ERROR_NOT_READY);
  checked(milliseconds) = static_cast<float>(static_cast<double>(to->time() - from->time()) * 1e-6);
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuEventCreate, (CUevent * out, unsigned flags)) {
  return call(EntryPoint::cuEventCreate, [&] {
    require((flags & CU_EVENT_INTERPROCESS) == 0, CUDA_ERROR_NOT_SUPPORTED);
    CUevent& handle = checked(out);
    handle = driver().events.insert(std::make_shared<Event>(current_context()->handle, flags));
  });
}

SWD_API(cuEventDestroy_v2, (CUevent handle)) {
  return call(EntryPoint::cuEventDestroy_v2, [&] { driver().events.remove(handle); });
}

SWD_STREAM_API(cuEventRecord, (CUevent event, CUstream stream), record(event, stream, 0))
SWD_STREAM_API(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
               record(event, stream, flags))

SWD_API(cuEventQuery, (CUevent handle)) {
  return call(EntryPoint::cuEventQuery, [&] {
    const auto last = event_outside_capture(handle)->last();
    require(!last || last->done(), CUDA_ERROR_NOT_READY);
    if (last) wait_on_host(*last);
    throw_error_here();
  });
}

SWD_API(cuEventSynchronize, (CUevent handle)) {
  return call(EntryPoint::cuEventSynchronize, [&] {
    if (const auto last = event_outside_capture(handle)->last()) wait_on_host(*last);
    throw_error_here();
  });
}

SWD_API(cuEventElapsedTime, (float* milliseconds, CUevent begin, CUevent end)) {
  return call(EntryPoint::cuEventElapsedTime, [&] { elapsed(milliseconds, begin, end); });
}

SWD_API(cuEventElapsedTime_v2, (float* milliseconds, CUevent begin, CUevent end)) {
  return call(EntryPoint::cuEventElapsedTime_v2, [&] { elapsed(milliseconds, begin, end); });
}
