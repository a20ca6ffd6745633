#include "tests/runtime/machine.hpp"

#include "tests/runtime/lane.hpp"

#include <algorithm>
#include <thread>

namespace tferry::runtime_test {

std::string first_difference(const std::vector<std::uint8_t>& expected,
                             const std::vector<std::uint8_t>& found) {
  const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  if (e == expected.end() && f == found.end()) return {};
  const auto at = e - expected.begin();
  char text[96];
  std::snprintf(text, sizeof text, "byte %td of %zu is 0x%02x and should be 0x%02x", at, expected.size(),
                f == found.end() ? 0U : *f, e == expected.end() ? 0U : *e);
  return text;
}

bool Machine::note(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return true;
  const std::lock_guard lock(mutex_);
  if (outcome_.errors++ == 0) outcome_.first_error = std::string(what) + ": " + name_of(result);
  return false;
}

void Machine::differs(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (outcome_.difference.empty()) outcome_.difference = what;
}

Outcome Machine::run() {
  if (set_up()) {
    for (std::size_t phase = 0; phase < program.phases.size() && !abandoned(); ++phase) run_phase(phase);
    if (!abandoned()) read_everything();
  }
  outcome_.allocated_at_end = Drivers::get().device().allocated;
  outcome_.parked_at_end = Drivers::get().device().parked;
  tear_down();
  outcome_.abandoned = abandoned();
  return outcome_;
}

bool Machine::set_up() {
  insist([&] { return api.cuDevicePrimaryCtxRetain(&context, 0); }, "cuDevicePrimaryCtxRetain");
  insist([&] { return api.cuCtxSetCurrent(context); }, "cuCtxSetCurrent");
  try {
    kernels = Kernels::load(Drivers::get().native());
  } catch (const std::exception&) {
    note(CUDA_ERROR_NOT_FOUND, "loading the kernels");
    abandon();
  }
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(program.lanes()); ++lane) {
    for (std::size_t i = 0; i < kOwnStreams; ++i) {
      const unsigned flags = i < 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
      insist([&] { return api.cuStreamCreate(&streams[lane][i], flags); }, "cuStreamCreate");
      numbers[lane][i] = next_number++;
    }
  }
  return !abandoned();
}

void Machine::run_phase(std::size_t phase) {
  addresses.clear();
  for (const Buffer& buffer : buffers) addresses.push_back(buffer.address);
  std::vector<std::thread> threads;
  for (int lane = 0; lane < program.lanes(); ++lane) {
    threads.emplace_back([this, phase, lane] {
      Lane(*this, lane).run(program.phases[phase][static_cast<std::size_t>(lane)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Machine::read_everything() {
  insist([&] { return api.cuCtxSynchronize(); }, "cuCtxSynchronize");
  for (std::size_t i = 0; i < buffers.size() && !abandoned(); ++i) {
    Buffer& buffer = buffers[i];
    if (buffer.address == 0) continue;
    std::vector<std::uint8_t> found(buffer.expected.size());
    insist([&] { return api.cuMemcpyDtoH_v2(found.data(), buffer.address, found.size()); },
           "last cuMemcpyDtoH");
    const std::string difference = abandoned() ? "" : first_difference(buffer.expected, found);
    if (!difference.empty()) differs("at the end, buffer " + std::to_string(i) + ": " + difference);
    insist([&] { return api.cuMemFree_v2(buffer.address); }, "last cuMemFree");
  }
}

void Machine::tear_down() { note(api.cuDevicePrimaryCtxReset_v2(0), "cuDevicePrimaryCtxReset"); }

}  // namespace tferry::runtime_test
