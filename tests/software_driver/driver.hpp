#pragma once

#include "tests/software_driver/address_space.hpp"
#include "tests/software_driver/allocation.hpp"
#include "tests/software_driver/capture.hpp"
#include "tests/software_driver/config.hpp"
#include "tests/software_driver/device.hpp"
#include "tests/software_driver/event.hpp"
#include "tests/software_driver/graph.hpp"
#include "tests/software_driver/handle_table.hpp"
#include "tests/software_driver/kernel.hpp"

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tferry::software_driver {

/// Behind a CUmodule or a CUlibrary.
struct Module {
  CUcontext context = nullptr;  ///< null for a library
  std::mutex mutex;
  std::map<std::string, std::uint64_t> kernels;  ///< handles given out, by name; guarded by mutex
  std::map<std::string, std::shared_ptr<Allocation>> globals;
  CUmodule as_module = nullptr;  ///< of a library, once asked for; guarded by mutex
};

/// The whole state of the process. Made at the first call and never destroyed, because workers run until the
/// end.
struct Driver {
  explicit Driver(Config settings);

  const Config config;
  std::atomic<bool> initialised{false};
  std::atomic<double> h2d_gbps;
  std::atomic<double> d2h_gbps;

  AddressSpace addresses;       ///< the program's reservations
  AddressSpace heap_addresses;  ///< those of the driver's own heaps
  PhysicalMemory host_memory;   ///< of host chunks
  std::vector<std::unique_ptr<Device>> devices;

  std::mutex chunk_mutex;  ///< guards Chunk::references
  HandleTable<CUmemGenericAllocationHandle, Chunk> chunks;
  AllocationTable allocations;
  HandleTable<CUmemoryPool, MemoryPool> pools;

  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  CaptureRegistry captures;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphExec, GraphExec> executables;

  KernelRegistry registry;
  HandleTable<CUmodule, Module> modules;
  HandleTable<CUlibrary, Module> libraries;
  HandleTable<CUfunction, Function> functions;
  HandleTable<CUkernel, Kernel> kernels;

  void set_poison(bool on);
  Device& device(CUdevice ordinal);  ///< throws CUDA_ERROR_INVALID_DEVICE
  /// Waits for all work of all contexts of a device.
  void synchronize_device(const Device& device);
  /// Ends a context: waits for its work and frees what belongs to it.
  void destroy_context(const std::shared_ptr<Context>& context);
};

Driver& driver();

/// Where an address lies. `device` is -1 for host memory.
struct Place {
  bool known = false;  ///< in an allocation or a reservation
  bool managed = false;
  int device = -1;
};
Place place_of(Address address);

/// The calling thread's current context; throws CUDA_ERROR_INVALID_CONTEXT when it has none.
std::shared_ptr<Context> current_context();
/// The stack of current contexts of the calling thread.
std::vector<CUcontext>& context_stack();

/// The stream behind a handle, default streams included; throws CUDA_ERROR_INVALID_HANDLE
/// (CONTEXT_IS_DESTROYED).
std::shared_ptr<Stream> stream_of(CUstream handle);

}  // namespace tferry::software_driver
