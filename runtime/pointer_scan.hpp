#pragma once

#include "cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::runtime {

/// Looks for addresses in device memory, as a conservative garbage collector would: every aligned 8-byte word
/// that lies in the range of movable memory counts as a pointer. A kernel does it at memory speed; where it
/// cannot be loaded the words are copied to the host and looked at there.
///
/// The call returns when the search has ended: it waits for `stream`, and so for everything the stream waits
/// for.
class PointerScan {
 public:
  struct Region {
    CUdeviceptr begin;
    std::size_t bytes;
  };
  struct Range {
    CUdeviceptr begin;
    CUdeviceptr end;
  };
  struct Hits {
    std::vector<CUdeviceptr> pages;  ///< beginnings of pages of `range` that some word points into
    bool complete = true;
    std::string error;
  };

  explicit PointerScan(const cuda::Driver& driver) : driver_(driver) {}

  /// Pages are `page_bytes` long, a power of two, counted from `range.begin`.
  Hits find_pages(std::span<const Region> regions, Range range, std::size_t page_bytes, CUstream stream);

 private:
  bool load();
  bool search_on_device(std::span<const Region> regions, Range range, unsigned shift, CUstream stream,
                        std::vector<std::uint32_t>& bits);
  CUresult search_on_host(std::span<const Region> regions, Range range, unsigned shift, CUstream stream,
                          std::vector<std::uint32_t>& bits);

  const cuda::Driver& driver_;
  CUfunction kernel_ = nullptr;
  bool tried_ = false;
};

}  // namespace tferry::runtime
