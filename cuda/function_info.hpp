#pragma once

#include "cuda/driver.hpp"
#include "cuda/multi_tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::cuda {

/// Where a kernel's parameters lie in its argument buffer. Offsets and sizes in bytes.
struct FunctionInfo {
  struct Parameter {
    std::size_t offset;
    std::size_t size;
  };
  std::vector<Parameter> parameters;
  std::size_t buffer_size = 0;  ///< end of the last parameter
  std::string name;             ///< mangled; empty when the driver does not tell
  std::uint64_t name_hash = 0;  ///< trace::OperationSignature::name_hash of it
  bool collective = false;      ///< a kernel of NCCL, whose buffers its arguments do not name
  std::optional<MultiTensorLayout> multi_tensor;  ///< of its first parameter
};

/// Parameter layouts by function handle. A handle given to cuLaunchKernel is usually a CUkernel (the CUDA
/// runtime uses the library interface), else a CUfunction: the first is asked first. Any thread. A look-up of
/// a known handle takes a shared lock and allocates nothing; `forget_all` must be called when a module or
/// library is unloaded, because handles are used again. Infos stay valid until the process ends: a launch may
/// still hold one.
class FunctionTable {
 public:
  /// Null when the driver can tell neither (then nothing is known about what the launch names).
  const FunctionInfo* find(const Driver& driver, CUfunction function);
  void forget_all();

 private:
  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, const FunctionInfo*> known_;
  std::vector<std::unique_ptr<const FunctionInfo>> all_;
};

/// Calls `visit(word)` for every 8-byte aligned 8-byte word of a launch's parameters, whether they come by
/// `kernelParams` or packed by `extra`. Words are looked at in full: a struct can hold many addresses, and a
/// tensor map (CUtensorMap, 128 bytes) holds one in its first word. Alignment is the parameter's own:
/// addresses at other offsets do not occur (FACTS.md, "Launch arguments"). `blocks`: of the whole grid; what
/// a multi-tensor kernel's argument holds beyond the tensors of these blocks is left out.
template <class Visit>
void for_each_argument_word(const FunctionInfo& info, std::uint64_t blocks, void* const* kernel_params,
                            void* const* extra, Visit visit);

}  // namespace tferry::cuda

#include "cuda/function_info_inline.hpp"
