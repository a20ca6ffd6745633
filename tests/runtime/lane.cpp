#include "tests/runtime/lane.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime_test {

std::vector<int> read_by(const Step& step) {
  switch (step.action) {
    case Action::kMix:
    case Action::kMixByStruct:
      return {step.first, step.second};
    case Action::kDownload:
    case Action::kCopy:
    case Action::kCopyRows:
      return {step.first};
    default:
      return {};
  }
}

std::vector<int> written_by(const Step& step) {
  if (step.action == Action::kAddByTable) return step.table;
  if (step.action == Action::kDownload) return {};
  return {step.target};
}

Lane::Lane(Machine& machine, int lane)
    : machine_(machine),
      api_(machine.api),
      lane_(static_cast<std::size_t>(lane)),
      thread_stream_number_(machine.next_number++) {}

void Lane::run(const std::vector<Step>& steps) {
  machine_.insist([&] { return api_.cuCtxSetCurrent(machine_.context); }, "cuCtxSetCurrent of a thread");
  for (const Step& step : steps) {
    if (machine_.abandoned()) return;
    carry_out(step);
  }
  machine_.insist([&] { return api_.cuCtxSynchronize(); }, "cuCtxSynchronize at the end of a thread");
  if (!machine_.abandoned()) check_downloads(-1);
}

void Lane::carry_out(const Step& step) {
  switch (step.action) {
    case Action::kAllocate:
      return allocate(step);
    case Action::kFree:
      return release(step);
    case Action::kDownload:
      return download(step);
    case Action::kAddByTable:
      return add_by_table(step);
    case Action::kSynchronize:
      return synchronize(step);
    case Action::kReplaceStream:
      return replace_stream(step);
    case Action::kCapture:
      return capture(step);
    case Action::kReplay:
      return replay(step);
    case Action::kDropGraph:
      return drop(step);
    default:
      return data_step(step);
  }
}

CUstream Lane::stream(int index) const {
  if (index == kLegacyStream) return CU_STREAM_LEGACY;
  if (index == kThreadStream) return CU_STREAM_PER_THREAD;
  return machine_.streams[lane_][static_cast<std::size_t>(index)];
}

int Lane::number(int index) const {
  // The legacy stream is one for all lanes, and never among the numbers that are given out.
  if (index == kLegacyStream) return 1 << 30;
  if (index == kThreadStream) return thread_stream_number_;
  return machine_.numbers[lane_][static_cast<std::size_t>(index)];
}

bool Lane::alive(const Step& step) const {
  const auto is_there = [&](int buffer) { return at(buffer).address != 0; };
  const auto read = read_by(step);
  const auto written = written_by(step);
  return std::all_of(read.begin(), read.end(), is_there) &&
         std::all_of(written.begin(), written.end(), is_there);
}

void Lane::wait_for(const Use& use, int stream_index) {
  if (use.event == nullptr || use.stream == number(stream_index)) return;
  machine_.insist([&] { return api_.cuStreamWaitEvent(stream(stream_index), use.event, 0); },
                  "cuStreamWaitEvent");
}

void Lane::wait_to_read(int buffer, int stream_index) { wait_for(at(buffer).written, stream_index); }

void Lane::wait_to_write(int buffer, int stream_index) {
  wait_for(at(buffer).written, stream_index);
  for (const auto& of_lane : at(buffer).read) {
    for (const Use& use : of_lane) wait_for(use, stream_index);
  }
}

void Lane::note_uses(std::span<const int> read, std::span<const int> written, int stream_index) {
  CUevent event = nullptr;
  machine_.insist([&] { return api_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); }, "cuEventCreate");
  machine_.insist([&] { return api_.cuEventRecord(event, stream(stream_index)); }, "cuEventRecord");
  const Use use{number(stream_index), event};
  for (const int buffer : read) at(buffer).read[lane_].push_back(use);
  for (const int buffer : written) {
    at(buffer).written = use;
    for (auto& of_lane : at(buffer).read) of_lane.clear();
  }
}

void Lane::data_step(const Step& step) {
  if (!alive(step)) return;
  const auto read = read_by(step);
  const auto written = written_by(step);
  for (const int buffer : read) wait_to_read(buffer, step.stream);
  for (const int buffer : written) wait_to_write(buffer, step.stream);
  if (machine_.abandoned()) return;
  Buffer& target = at(step.target);
  if (!machine_.note(submit(step, stream(step.stream)), "a data step")) {
    // A new buffer that could not be filled holds anything: nobody is to read it.
    if (!target.defined) release(step);
    return;
  }
  target.defined = true;
  apply(step);
  note_uses(read, written, step.stream);
}

void Lane::allocate(const Step& step) {
  Buffer& buffer = at(step.target);
  const std::size_t bytes = machine_.program.buffers[static_cast<std::size_t>(step.target)];
  const CUresult result = step.form == 0 ? api_.cuMemAlloc_v2(&buffer.address, bytes)
                                         : api_.cuMemAllocAsync(&buffer.address, bytes, stream(step.stream));
  if (!machine_.note(result, "an allocation")) {
    buffer.address = 0;
    return;
  }
  buffer.expected.assign(bytes, 0);
  const int written[] = {step.target};
  if (step.form == 1) note_uses({}, written, step.stream);
}

void Lane::release(const Step& step) {
  Buffer& buffer = at(step.target);
  if (buffer.address == 0) return;
  if (step.form == 0) {
    if (!machine_.insist([&] { return api_.cuMemFree_v2(buffer.address); }, "cuMemFree")) return;
  } else {
    wait_to_write(step.target, step.stream);
    if (!machine_.insist([&] { return api_.cuMemFreeAsync(buffer.address, stream(step.stream)); },
                         "cuMemFreeAsync")) {
      return;
    }
  }
  buffer = Buffer{};
}

void Lane::download(const Step& step) {
  if (!alive(step)) return;
  wait_to_read(step.first, step.stream);
  const Buffer& source = at(step.first);
  const auto begin = source.expected.begin() + static_cast<std::ptrdiff_t>(step.first_at);
  downloads_.push_back({number(step.stream),
                        std::vector<std::uint8_t>(step.bytes),
                        {begin, begin + static_cast<std::ptrdiff_t>(step.bytes)},
                        "buffer " + std::to_string(step.first) + " from " + std::to_string(step.first_at)});
  Download& download = downloads_.back();
  const bool waits = step.stream == kLegacyStream && step.form == 0;
  const CUresult result =
      waits ? api_.cuMemcpyDtoH_v2(download.found.data(), source.address + step.first_at, step.bytes)
            : api_.cuMemcpyDtoHAsync_v2(download.found.data(), source.address + step.first_at, step.bytes,
                                        stream(step.stream));
  if (!machine_.note(result, "a download")) {
    downloads_.pop_back();
    return;
  }
  const int read[] = {step.first};
  note_uses(read, {}, step.stream);
  if (waits) check_downloads(number(step.stream));
}

void Lane::check_downloads(int stream_number) {
  std::erase_if(downloads_, [&](const Download& download) {
    if (stream_number >= 0 && download.stream != stream_number) return false;
    const std::string difference = first_difference(download.expected, download.found);
    if (!difference.empty()) machine_.differs("read back, " + download.what + ": " + difference);
    return true;
  });
}

void Lane::add_by_table(const Step& step) {
  if (!alive(step)) return;
  std::vector<CUdeviceptr> words;
  std::uint64_t common = ~std::uint64_t{0};
  for (const int buffer : step.table) {
    words.push_back(at(buffer).address);
    common = std::min<std::uint64_t>(common, at(buffer).expected.size() / 4);
  }
  CUdeviceptr table = 0;
  if (!machine_.note(api_.cuMemAlloc_v2(&table, words.size() * 8), "allocating a table")) return;
  const bool there =
      machine_.note(api_.cuMemcpyHtoD_v2(table, words.data(), words.size() * 8), "a table's upload");
  // The upload is on the legacy stream and has ended; a non-blocking stream need not wait for it.
  if (there) {
    for (const int buffer : step.table) wait_to_write(buffer, step.stream);
    auto count = static_cast<std::uint32_t>(words.size());
    std::uint32_t value = step.value;
    void* parameters[] = {&table, &count, &common, &value};
    if (machine_.note(launch(machine_.kernels.add_by_table, stream(step.stream), parameters),
                      "a launch by table")) {
      for (std::size_t i = 0; i < step.table.size(); ++i) {
        add_words(reinterpret_cast<std::uint32_t*>(at(step.table[i]).expected.data()), common,
                  value + static_cast<std::uint32_t>(i));
      }
      note_uses({}, step.table, step.stream);
    }
    // Dead tables are overwritten, so that the addresses in them keep nothing on the device.
    machine_.insist([&] { return api_.cuMemsetD8Async(table, 0, words.size() * 8, stream(step.stream)); },
                    "clearing a table");
  }
  machine_.insist([&] { return api_.cuMemFree_v2(table); }, "freeing a table");
}

void Lane::synchronize(const Step& step) {
  if (step.form == 0) {
    if (machine_.note(api_.cuStreamSynchronize(stream(step.stream)), "cuStreamSynchronize"))
      check_downloads(number(step.stream));
  } else if (step.form == 1) {
    if (machine_.note(api_.cuCtxSynchronize(), "cuCtxSynchronize")) check_downloads(-1);
  } else if (at(step.target).written.event != nullptr) {
    machine_.note(api_.cuEventSynchronize(at(step.target).written.event), "cuEventSynchronize");
  }
}

void Lane::replace_stream(const Step& step) {
  const auto index = static_cast<std::size_t>(step.stream);
  CUstream made = nullptr;
  const unsigned flags = index < 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
  if (!machine_.note(api_.cuStreamCreate(&made, flags), "cuStreamCreate")) return;
  machine_.insist([&] { return api_.cuStreamDestroy_v2(stream(step.stream)); }, "cuStreamDestroy");
  machine_.streams[lane_][index] = made;
  machine_.numbers[lane_][index] = machine_.next_number++;
}

void Lane::capture(const Step& step) {
  if (!std::all_of(step.captured.begin(), step.captured.end(),
                   [&](const Step& inner) { return alive(inner); }))
    return;
  const CUstream origin = stream(step.stream);
  const CUstream other = stream(step.stream == 0 ? 1 : 0);
  CUevent fork = nullptr;
  CUevent join = nullptr;
  machine_.insist([&] { return api_.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING); }, "cuEventCreate");
  machine_.insist([&] { return api_.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING); }, "cuEventCreate");
  if (!machine_.note(api_.cuStreamBeginCapture_v2(origin, static_cast<CUstreamCaptureMode>(step.form)),
                     "cuStreamBeginCapture")) {
    return;
  }
  bool whole = true;
  const std::size_t before = step.captured.size() - step.forked;
  for (std::size_t i = 0; i < step.captured.size() && whole; ++i) {
    if (i == before) {
      whole = machine_.note(api_.cuEventRecord(fork, origin), "recording a fork") &&
              machine_.note(api_.cuStreamWaitEvent(other, fork, 0), "forking a capture");
    }
    whole = whole && machine_.note(submit(step.captured[i], i >= before ? other : origin), "a captured step");
  }
  if (whole && step.forked > 0) {
    whole = machine_.note(api_.cuEventRecord(join, other), "recording a join") &&
            machine_.note(api_.cuStreamWaitEvent(origin, join, 0), "joining a capture");
  }
  CUgraph graph = nullptr;
  bool ended = false;
  for (int tries = 0; tries < 2 && !ended; ++tries) {
    ended = machine_.note(api_.cuStreamEndCapture(origin, &graph), "cuStreamEndCapture");
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!ended && api_.cuStreamIsCapturing(origin, &status) == CUDA_SUCCESS &&
        status == CU_STREAM_CAPTURE_STATUS_NONE)
      break;  // it was invalid
  }
  if (graph == nullptr) return;
  Graph made{nullptr, step.captured};
  whole =
      whole && machine_.note(api_.cuGraphInstantiateWithFlags(&made.exec, graph, 0), "cuGraphInstantiate");
  machine_.insist([&] { return api_.cuGraphDestroy(graph); }, "cuGraphDestroy");
  if (whole) graphs_.emplace(step.graph, std::move(made));
}

void Lane::replay(const Step& step) {
  const auto found = graphs_.find(step.graph);
  if (found == graphs_.end()) return;
  std::vector<int> written;
  std::vector<int> read;
  for (const Step& inner : found->second.steps) {
    for (const int buffer : written_by(inner)) written.push_back(buffer);
    for (const int buffer : read_by(inner)) read.push_back(buffer);
  }
  for (const int buffer : read) wait_to_read(buffer, step.stream);
  for (const int buffer : written) wait_to_write(buffer, step.stream);
  if (!machine_.note(api_.cuGraphLaunch(found->second.exec, stream(step.stream)), "cuGraphLaunch")) return;
  for (const Step& inner : found->second.steps) apply(inner);
  note_uses(read, written, step.stream);
}

void Lane::drop(const Step& step) {
  const auto found = graphs_.find(step.graph);
  if (found == graphs_.end()) return;
  machine_.insist([&] { return api_.cuGraphExecDestroy(found->second.exec); }, "cuGraphExecDestroy");
  graphs_.erase(found);
}

}  // namespace tferry::runtime_test
