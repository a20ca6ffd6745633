#pragma once

#include <cstddef>
#include <cstdint>

/// Page faults of managed memory, for who wants to see them as CUPTI would show them. Without an observer
/// managed memory is everywhere at once. With one, a prefetch to the host makes its pages inaccessible, and
/// whoever touches one of them gets it back with the 64 KiB around it; a kernel that does so makes a fault
/// and a migration. Environment: `SWD_INJECT=1` has cuInit load the library that CUDA_INJECTION64_PATH names,
/// as NVIDIA's driver does.
extern "C" {

struct SwdPageEvent {
  enum Kind : int { kFault = 1, kToDevice, kToHost };
  int kind;
  std::uintptr_t address;
  std::size_t bytes;
  int write;     ///< of a fault: it was a store
  int prefetch;  ///< asked for by a call, not by a fault
  int device;
  std::int64_t time_ns;  ///< CLOCK_MONOTONIC
};

struct SwdObserver {
  void (*context_created)(void* context, int device);
  /// On a thread of the driver's, behind the work that made it happen, before anyone sees that work done.
  void (*page_event)(const SwdPageEvent* event);
};

/// For good; nullptr ends it. The first call that makes managed memory comes later than this one.
void swd_observe(const SwdObserver* observer);
}

namespace tferry::software_driver {

/// Managed memory begins and ends; at most 32 ranges are watched at once.
void pages_begin(std::uintptr_t base, std::size_t size, int device);
void pages_end(std::uintptr_t base);
/// They are brought to a device, or to the host (-1).
void bring_pages(std::uintptr_t address, std::size_t size, int to);
/// From the handler of SIGSEGV: true where the page was away and is here now.
bool resolve_page_fault(std::uintptr_t address, bool write) noexcept;
/// The calling thread runs a kernel, whose faults are told when it has ended. No object: an illegal access
/// leaves a kernel by siglongjmp.
void kernel_begins() noexcept;
void kernel_ended();
void tell_context_created(void* context, int device);
/// What SWD_INJECT asks for, once.
void inject();

}  // namespace tferry::software_driver
