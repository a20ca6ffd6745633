#include "tests/software_driver/driver.hpp"

#include "tests/software_driver/jitter.hpp"

#include <limits>
#include <utility>

namespace tferry::software_driver {

Driver::Driver(Config settings)
    : config(std::move(settings)),
      h2d_gbps(config.h2d_gbps),
      d2h_gbps(config.d2h_gbps),
      host_memory("swd-host", std::numeric_limits<std::size_t>::max() / 2) {
  set_jitter_seed(config.jitter);
  for (int i = 0; i < config.devices; ++i) {
    auto device = std::make_unique<Device>(i, config.device_memory, config.granularity, heap_addresses);
    device->default_pool->device = i;
    device->default_pool_handle = pools.insert(device->default_pool);
    device->current_pool = device->default_pool_handle;
    devices.push_back(std::move(device));
  }
  for (const auto& group : config.shared_links) {
    Device& first = device(group.front());
    for (const int member : group) {
      device(member).link_in = &first.to_device;
      device(member).link_out = &first.to_host;
    }
  }
  set_poison(config.poison);
}

void Driver::set_poison(bool on) {
  host_memory.set_poison(on);
  for (const auto& device : devices) device->memory.set_poison(on);
}

Driver& driver() {
  static Driver& instance = *new Driver(config_from_environment());
  return instance;
}

Device& Driver::device(CUdevice ordinal) {
  require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(), CUDA_ERROR_INVALID_DEVICE);
  return *devices[static_cast<std::size_t>(ordinal)];
}

void Driver::synchronize_device(const Device& device) {
  for (const auto& context : contexts.select([&](const Context& c) { return &c.device() == &device; })) {
    context->synchronize();
  }
}

void Driver::destroy_context(const std::shared_ptr<Context>& context) {
  contexts.remove(context->handle, CUDA_ERROR_INVALID_CONTEXT);
  context->close();
  streams.remove_if([&](const Stream& stream) { return stream.context() == context; });
  events.remove_if([&](const Event& event) { return event.context == context->handle; });
  for (const auto& module :
       modules.remove_if([&](const Module& m) { return m.context == context->handle; })) {
    for (const auto& [name, handle] : module->kernels) functions.remove(std::bit_cast<CUfunction>(handle));
  }
  allocations.remove_context(context->handle);
}

Place place_of(Address address) {
  if (const auto allocation = driver().allocations.find(address)) {
    const bool on_host =
        allocation->kind == Allocation::Kind::kHost || allocation->kind == Allocation::Kind::kRegistered;
    return {true, allocation->kind == Allocation::Kind::kManaged, on_host ? -1 : allocation->device};
  }
  if (const auto mapping = driver().addresses.mapping_at(address))
    return {true, false, mapping->chunk->device};
  if (driver().addresses.reservation_at(address)) return {true, false, 0};
  return {};
}

std::vector<CUcontext>& context_stack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

std::shared_ptr<Context> current_context() {
  const auto& stack = context_stack();
  require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
  return driver().contexts.get(stack.back(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

std::shared_ptr<Stream> stream_of(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return current_context()->legacy_stream();
  if (handle == CU_STREAM_PER_THREAD) return current_context()->per_thread_stream();
  return driver().streams.get(handle);
}

}  // namespace tferry::software_driver
