#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace tferry::software_driver {

/// Runs `work` so that an access to unmapped or inaccessible memory ends it instead of the process, and gives
/// the address. The handler of SIGSEGV and SIGBUS leaves by siglongjmp: no destructors run between the access
/// and here. Faults outside of guarded work go to the handler that was there before.
std::optional<std::uintptr_t> run_guarded(const std::function<void()>& work);

}  // namespace tferry::software_driver
