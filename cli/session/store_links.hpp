#pragma once

#include "cli/session/host_facts.hpp"

#include <cstdint>

namespace tferry::trace {
class SessionWriter;
}

namespace tferry::cli {

/// Writes a host's links into table `link`: an edge of kind "host" for each NUMA node that has GPUs, below it
/// the PCIe tree down to each GPU, and NVLink between GPUs. Rates are those of the calibration: a GPU's edge
/// has what it reaches alone, an edge above several GPUs what exactly these reach together. Where nobody
/// measured they are NULL.
///
/// GPUs are the rows of table `device` with an id above `devices_before`, told apart by PCI address and by
/// UUID.
void store_links(trace::SessionWriter& writer, const HostFacts& facts, std::int64_t devices_before = 0);

}  // namespace tferry::cli
