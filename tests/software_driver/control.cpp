#include "tests/software_driver/control.hpp"

#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/fault.hpp"
#include "tests/software_driver/jitter.hpp"
#include "tests/software_driver/violation.hpp"

#include <mutex>

namespace tferry::software_driver {
namespace {

template <class Body>
int control(Body body) noexcept {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const DriverError& error) {
    return error.code();
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

void read_engine(Engine& engine, std::int64_t& bytes, std::int64_t& copies, std::int64_t& busy) {
  const std::lock_guard lock(engine.mutex);
  bytes = engine.bytes;
  copies = engine.count;
  busy = engine.busy;
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_EXPORT int swd_register_kernel(const char* name, SwdKernelFunction function,
                                   const SwdParameter* parameters, unsigned count, std::int64_t duration_ns) {
  return control([&] {
    require(count == 0 || parameters);
    KernelCode code{&checked(name), function, {}, duration_ns};
    code.parameters.assign(parameters, parameters + count);
    driver().registry.add(std::move(code));
  });
}

SWD_EXPORT int swd_register_global(const char* name, std::size_t size) {
  return control([&] { driver().registry.add_global(&checked(name), size); });
}

SWD_EXPORT int swd_fail(const char* function, std::int64_t nth, int error, int onwards) {
  return control([&] { add_fault(find_entry(function), nth, static_cast<CUresult>(error), onwards != 0); });
}

SWD_EXPORT void swd_clear_faults(void) { clear_faults(); }

SWD_EXPORT std::int64_t swd_calls(const char* function) {
  const EntryPoint entry = find_entry(function);
  return entry == EntryPoint::kCount ? -1 : call_count(entry);
}

SWD_EXPORT void swd_clear_calls(void) { clear_call_counts(); }

SWD_EXPORT const char* swd_function_name(unsigned index) {
  if (index >= static_cast<unsigned>(EntryPoint::kCount)) return nullptr;
  return entry_info(static_cast<EntryPoint>(index)).exported;
}

SWD_EXPORT int swd_set_device_memory(int device, std::size_t bytes) {
  return control([&] { driver().device(device).memory.set_capacity(bytes); });
}

SWD_EXPORT void swd_set_copy_rates(double h2d_gbps, double d2h_gbps) {
  driver().h2d_gbps = h2d_gbps;
  driver().d2h_gbps = d2h_gbps;
}

SWD_EXPORT void swd_set_jitter(std::uint64_t seed) {
  driver();
  set_jitter_seed(seed);
}

SWD_EXPORT void swd_set_poison(int on) { driver().set_poison(on != 0); }

SWD_EXPORT int swd_statistics(int ordinal, SwdStatistics* out) {
  return control([&] {
    Device& device = driver().device(ordinal);
    SwdStatistics& all = checked(out);
    all = {};
    all.memory_total = device.memory.capacity();
    all.memory_used = device.memory.used();
    all.memory_peak = device.memory.peak();
    read_engine(device.to_device, all.h2d_bytes, all.h2d_copies, all.h2d_busy_ns);
    read_engine(device.to_host, all.d2h_bytes, all.d2h_copies, all.d2h_busy_ns);
    all.d2d_bytes = device.inner_bytes;
    all.kernels = device.kernels;
    all.kernel_ns = device.kernel_time;
    all.host_chunks_used = driver().host_memory.used();
    all.reservations = driver().addresses.reservation_count();
    all.mappings = driver().addresses.mapping_count();
    all.chunks = driver().chunks.size();
    all.allocations = driver().allocations.size();
    all.streams = driver().streams.size();
    all.events = driver().events.size();
    all.modules = driver().modules.size() + driver().libraries.size();
    all.graphs = driver().graphs.size() + driver().executables.size();
    all.illegal_accesses = illegal_access_count();
  });
}

SWD_EXPORT void swd_clear_peaks(void) {
  for (const auto& device : driver().devices) device->memory.clear_peak();
}

SWD_EXPORT std::int64_t swd_virtual_now_ns(void) { return advance_host_clock(0); }

SWD_EXPORT std::uintptr_t swd_last_illegal_address(void) { return last_illegal_address(); }
