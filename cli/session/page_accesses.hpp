#pragma once

#include <cstdint>
#include <string>

namespace tferry::trace {
class SessionWriter;
}

namespace tferry::cli {

/// What the access pass by pages found.
struct PageAccesses {
  std::int64_t launches = 0;    ///< that were watched
  std::int64_t touched = 0;     ///< allocations that one of them touched, launch by launch
  std::int64_t hidden = 0;      ///< of these, such as no argument of the launch names
  std::int64_t untouched = 0;   ///< named by a watched launch, and not touched by it
  std::int64_t undirected = 0;  ///< touched, and no record says whether it was read or written first
  std::int64_t events = 0;      ///< page faults and migrations to the device during watched launches
  std::int64_t shared = 0;      ///< of these, in pages that several small allocations share: nobody's
  std::int64_t outside = 0;     ///< of all there are, those that belong to no watched launch

  std::string text() const;
};

/// Turns the records of unified memory that fall into watched launches (runtime/page_probe.hpp) into rows of
/// table `access`, known by pages.
///
/// A launch was watched where it has a gate that only its thread waited for: before that gate's end all
/// memory was on the host, and before the call returned its kernel had ended. So the faults and migrations to
/// that device in between are the kernel's. CUPTI groups faults, one record for many pages, and the driver
/// moves what lies beside a fault, too, but never beyond 2 MiB: extents of 2 MiB are what is known. A page is
/// asked for once, so the kind is that of the FIRST access to each extent: read, write, read_write where
/// extents differ or it was atomic, may_touch where no fault record lies in what was moved.
///
/// An allocation that the launch's arguments name has its row changed (it keeps argument_offset); one that
/// they do not name gets a row, whose argument_offset is NULL: the kernel found it by a pointer in device
/// memory. Damaged records (no address, reversed times, of a device or allocation nobody knows) change
/// nothing.
///
/// Memory: what is alive at once, and the extents of one launch.
PageAccesses find_page_accesses(trace::SessionWriter& writer);

}  // namespace tferry::cli
