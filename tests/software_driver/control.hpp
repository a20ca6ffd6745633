#pragma once

#include <cstddef>
#include <cstdint>

/// The software driver: a `libcuda.so.1` of our own for programs written against the CUDA driver API, so that
/// `tferry run` is tested end to end on machines without a GPU. Device memory is host memory behind memfd
/// mappings, kernels are registered host functions, every stream has a worker thread, and copies take virtual
/// time.
///
/// What it does not do: `cuGetExportTable` answers CUDA_ERROR_NOT_SUPPORTED, and the CUDA runtime (static or
/// shared) needs private tables from there; so only driver-API programs run on it. There are no arrays,
/// textures, surfaces, IPC or external memory. `cuGetProcAddress` does not find the calls that are missing.
///
/// Environment, read at the first call:
/// - `SWD_DEVICES`: number of devices (1)
/// - `SWD_DEVICE_MEMORY`: bytes of each (268435456)
/// - `SWD_GRANULARITY`: of cuMemCreate (2097152); a power of two, at least 65536
/// - `SWD_H2D_GBPS`, `SWD_D2H_GBPS` (55), `SWD_D2D_GBPS` (1500), `SWD_P2P_GBPS` (400): virtual copy rates
/// - `SWD_SHARED_LINKS=0+1,2+3`: devices whose copies from and to the host go one after the other, as over
/// one link;
///   their bytes are counted at the group's first device
/// - `SWD_JITTER=SEED`: workers pause at random places, so that missing synchronisation shows as wrong bytes
/// - `SWD_POISON=1`: memory is filled with 0xA5 when it is made
/// - `SWD_CONTENTS=0`: copies and sets take their time and move nothing, so that memory that no kernel
/// touches
///   takes none of this machine's: for jobs of dozens of GiB that are replayed (tests/replay)
/// - `SWD_FAIL=cuMemCreate:3:2,cuMemMap:5+:999`: call 3 fails with error 2; call 5 and all after it with 999
/// - `SWD_REPORT=FILE`: statistics and call counts are written there at exit; %p stands for the process id
///
/// The functions below are exported by the same library: link to it, or find them by dlsym in the handle of
/// libcuda.so.1 (types by decltype(&swd_calls)). All are thread-safe, and none counts as a driver call.
/// Functions that return int give 0, or a CUresult. Sizes are bytes, times virtual nanoseconds.
extern "C" {

/// What a kernel gets. `parameters[i]` points to a private copy of parameter i, taken at the launch.
struct SwdLaunch {
  const char* name;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  int device;
  unsigned parameter_count;
  const void* const* parameters;
};

/// Runs once per launch, for the whole grid, on the stream's worker. It must not call the driver, and since
/// an illegal access leaves it by siglongjmp, hold nothing that needs a destructor while it touches device
/// memory.
using SwdKernelFunction = void (*)(const SwdLaunch*);

struct SwdParameter {
  std::size_t offset;
  std::size_t size;
};

/// Makes `name` known to cuModuleGetFunction and cuLibraryGetKernel of every module and library, whatever
/// their image. Registering a name again replaces it for the handles asked for afterwards.
int swd_register_kernel(const char* name, SwdKernelFunction function, const SwdParameter* parameters,
                        unsigned count, std::int64_t duration_ns);

/// Gives every module and library a global variable of that name; each gets memory of its own when it is
/// loaded.
int swd_register_global(const char* name, std::size_t size);

/// The `nth` next call of `function` (exported name, such as "cuMemAlloc_v2"; 1 is the very next) fails with
/// `error` and has no effect; with `onwards` so do all after it. CUDA_SUCCESS: it has no effect, and nobody
/// is told, as if a wait or a copy had been forgotten. Unknown names give CUDA_ERROR_NOT_FOUND.
int swd_fail(const char* function, std::int64_t nth, int error, int onwards);
void swd_clear_faults(void);

/// Calls of `function` so far, failed ones included; -1 for an unknown name. A _ptsz or _ptds form counts
/// with its plain one.
std::int64_t swd_calls(const char* function);
void swd_clear_calls(void);

/// Names of all entry points, for tests that fail each in turn; nullptr past the last.
const char* swd_function_name(unsigned index);

int swd_set_device_memory(int device, std::size_t bytes);
void swd_set_copy_rates(double h2d_gbps, double d2h_gbps);
void swd_set_jitter(std::uint64_t seed);  ///< 0 turns it off
void swd_set_poison(int on);

struct SwdStatistics {
  // of the device
  std::size_t memory_total;
  std::size_t memory_used;
  std::size_t memory_peak;
  std::int64_t h2d_bytes;
  std::int64_t d2h_bytes;
  std::int64_t d2d_bytes;
  std::int64_t h2d_copies;
  std::int64_t d2h_copies;
  std::int64_t h2d_busy_ns;
  std::int64_t d2h_busy_ns;
  std::int64_t kernels;
  std::int64_t kernel_ns;
  // of the process
  std::size_t host_chunks_used;  ///< bytes of cuMemCreate on host locations
  std::size_t reservations;      ///< live cuMemAddressReserve ranges
  std::size_t mappings;          ///< live cuMemMap mappings
  std::size_t chunks;            ///< handles of cuMemCreate not yet released
  std::size_t allocations;       ///< live cuMemAlloc*, cuMemHost*, managed and pool allocations
  std::size_t streams;
  std::size_t events;
  std::size_t modules;  ///< modules and libraries
  std::size_t graphs;   ///< graphs and executable graphs
  std::int64_t illegal_accesses;
};
int swd_statistics(int device, SwdStatistics* out);

/// Restarts the peak of a device's memory at what is used now.
void swd_clear_peaks(void);

/// Host clock of the model: the latest virtual time that any synchronisation of the host has seen.
std::int64_t swd_virtual_now_ns(void);

/// The address of the last illegal access of a kernel or copy; 0 if there was none.
std::uintptr_t swd_last_illegal_address(void);
}
