#pragma once

#include "tests/software_driver/physical_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace tferry::software_driver {

using Address = std::uintptr_t;

/// Reserved address ranges and the chunks mapped into them, as cuMemAddressReserve to cuMemUnmap have them.
/// Everything acts at once, waits for no stream, and leaves an access between unmap and set_access to fault,
/// as on a real card. Errors are thrown as DriverError. Thread-safe.
class AddressSpace {
 public:
  struct Mapping {
    Address base = 0;
    std::shared_ptr<Chunk> chunk;
    std::vector<unsigned> access;  ///< CUmemAccess_flags by device
    unsigned host_access = 0;
  };
  struct Range {
    Address base = 0;
    std::size_t size = 0;
  };

  /// `hint` may be 0; a hint that is taken is ignored, as the driver does. Sizes that the process cannot
  /// reserve give CUDA_ERROR_OUT_OF_MEMORY.
  Address reserve(std::size_t size, std::size_t alignment, Address hint);
  void free(Address base, std::size_t size);

  void map(Address base, std::shared_ptr<Chunk> chunk);
  /// The range must consist of whole mappings without a gap.
  void unmap(Address base, std::size_t size);
  /// `device` -1 is the host. Flags are CUmemAccess_flags.
  void set_access(Address base, std::size_t size, int device, unsigned flags);

  std::optional<Mapping> mapping_at(Address address) const;
  std::optional<Range> reservation_at(Address address) const;
  std::size_t mapping_count() const;
  std::size_t reservation_count() const;

 private:
  using Mappings = std::map<Address, Mapping>;
  /// The mappings that cover the range exactly.
  std::pair<Mappings::iterator, Mappings::iterator> covering(Address base, std::size_t size);

  mutable std::shared_mutex mutex_;
  std::map<Address, std::size_t> reservations_;
  Mappings mappings_;
};

}  // namespace tferry::software_driver
